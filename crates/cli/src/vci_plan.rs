// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the VCIs of a process use the network between hosts, and how they could.

use std::ffi::OsString;
use std::fmt::Write as _;

use channels::{
    Constants, Profile, ProviderLimits, Threading, VciPlan, VciVerdict, choose_vci_plan,
    vci_plan_in_use, vci_plans,
};
use fabric::ofi::{Choice, Library, Sharing, choose};
use measure::columns::table;
use measure::settings;
use serde_json::{Value, json};
use sys::limits::open_files_limit;

/// The plans of VCIs on a provider.
pub(crate) struct Plans {
    /// The provider, the interface and their library.
    provider: String,
    vcis: usize,
    ranks: usize,
    limits: ProviderLimits,
    verdicts: Vec<VciVerdict>,
}

/// The objects of libfabric that make up a context.
const CONTEXT: &str = "domain, endpoint, completion queue and address vector";

/// The limits of the provider that jobs of several hosts would use here, with as many ranks elsewhere as `others`.
fn here(others: usize) -> Result<(String, ProviderLimits), String> {
    let text = |name: &str| {
        let value = settings::variable(name)?;
        (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
    };
    let file = text("RANKPOINT_LIBFABRIC").map(OsString::from);
    let library = Library::open(file.as_deref()).map_err(|error| error.to_string())?;
    let (provider, interface) = (text("RANKPOINT_PROVIDER"), text("RANKPOINT_INTERFACE"));
    let choice = Choice {
        provider: provider.as_deref(),
        interface: interface.as_deref(),
    };
    let chosen = choose(&library, &choice).map_err(|error| error.to_string())?;
    let found = chosen.limits(&library);
    let offered = [
        (found.has_thread_safe, Threading::Safe),
        (found.has_thread_completion, Threading::Completion),
        (found.has_thread_domain, Threading::Domain),
    ];
    let offered = offered
        .into_iter()
        .filter_map(|(is_offered, level)| is_offered.then_some(level));
    let sharing = text("RANKPOINT_NET_SHARING").unwrap_or_default();
    let sharing = Sharing::parse(&sharing).unwrap_or_default();
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    let most_domains = sharing.contexts(&chosen.offer.provider, open_files_limit(), others);
    let limits = ProviderLimits {
        most_domains: most_domains.into(),
        ep_cnt: found.ep_cnt,
        cq_cnt: found.cq_cnt,
        tx_ctx_cnt: found.tx_ctx_cnt,
        rx_ctx_cnt: found.rx_ctx_cnt,
        max_ep_tx_ctx: found.max_ep_tx_ctx,
        max_ep_rx_ctx: found.max_ep_rx_ctx,
        max_ep_stx_ctx: found.max_ep_stx_ctx,
        threading: offered.collect(),
    };
    let name = format!(
        "{} on {} (libfabric {})",
        chosen.offer.provider,
        chosen.offer.interface,
        library.version_text()
    );
    Ok((name, limits))
}

fn constants() -> Result<Constants, String> {
    let nic = Profile::named("connectx4").map_err(|error| error.to_string())?;
    nic.constants
        .ok_or_else(|| "connectx4 has no constants".to_owned())
}

impl Plans {
    /// The plans for the provider of this node.
    ///
    /// # Errors
    /// When libfabric cannot be loaded, or offers no network.
    pub(crate) fn here(vcis: usize, ranks: usize) -> Result<Self, String> {
        let (provider, limits) = here(ranks)?;
        Self::new(provider, limits, vcis, ranks)
    }

    fn new(
        provider: String,
        limits: ProviderLimits,
        vcis: usize,
        ranks: usize,
    ) -> Result<Self, String> {
        let verdicts = vci_plans(&limits, vcis, ranks, &constants()?);
        Ok(Self {
            provider,
            vcis,
            ranks,
            limits,
            verdicts,
        })
    }

    pub(crate) fn text(&self) -> String {
        let in_use = vci_plan_in_use(&self.verdicts);
        let mut text = format!(
            "{}.\nPlans for {} VCIs of a process, {} on the node, {}:\n",
            in_use.map_or_else(String::new, |one| sentence(one, self.vcis)),
            self.vcis,
            self.ranks,
            self.provider
        );
        let best = choose_vci_plan(&self.verdicts);
        let head = [
            "plan",
            "like",
            "domains",
            "endpoints",
            "transmit contexts",
            "CQs",
            "AVs",
            "threading",
            "verdict",
        ];
        let rows = self.verdicts.iter().map(|one| {
            let objects = &one.objects;
            let round_robin = match objects.vcis_on_one {
                0 | 1 => String::new(),
                most => format!("; up to {most} VCIs on one, round-robin"),
            };
            let is_used = in_use.is_some_and(|used| used.plan == one.plan);
            let verdict = match one.refusal {
                Some(refusal) => format!("refused: {refusal}"),
                None if is_used => format!("in use{round_robin}"),
                None if one.plan.is_written() => {
                    format!("possible by RANKPOINT_NET_SHARING{round_robin}")
                }
                None => format!("possible, not written yet{round_robin}"),
            };
            [
                one.plan.name().to_owned(),
                one.plan.category().name().to_owned(),
                objects.domains.to_string(),
                objects.endpoints.to_string(),
                objects.transmit.to_string(),
                objects.completion_queues.to_string(),
                objects.address_vectors.to_string(),
                one.plan.threading().name().to_owned(),
                verdict,
            ]
        });
        table(
            &mut text,
            0,
            std::iter::once(head.map(str::to_owned))
                .chain(rows)
                .collect(),
        );
        if let Some(best) = best {
            let share = (best.expectation.share * 1e3).round() / 10.0;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "By the provider's limits '{}' would be chosen: {share} % of the throughput of a process for each VCI ({}, for another network)",
                best.plan.name(),
                best.expectation.origin
            );
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let best = choose_vci_plan(&self.verdicts);
        let plan = |one: &VciVerdict| {
            let objects = &one.objects;
            json!({
                "plan": one.plan.key(), "like": one.plan.category().name(), "domains": objects.domains,
                "endpoints": objects.endpoints, "transmit_contexts": objects.transmit,
                "completion_queues": objects.completion_queues, "address_vectors": objects.address_vectors,
                "vcis_on_one": objects.vcis_on_one, "threading": one.plan.threading().name(),
                "refused": one.refusal.map(|refusal| refusal.to_string()),
                "throughput": { "share": one.expectation.share, "origin": one.expectation.origin.name() },
            })
        };
        let limits = &self.limits;
        json!({
            "in_use": vci_plan_in_use(&self.verdicts).map(|one| one.plan.key()), "would_choose": best.map(|one| one.plan.key()),
            "provider": self.provider, "vcis": self.vcis, "ranks": self.ranks,
            "limits": {
                "ep_cnt": limits.ep_cnt, "cq_cnt": limits.cq_cnt, "tx_ctx_cnt": limits.tx_ctx_cnt,
                "rx_ctx_cnt": limits.rx_ctx_cnt, "max_ep_tx_ctx": limits.max_ep_tx_ctx,
                "max_ep_rx_ctx": limits.max_ep_rx_ctx, "max_ep_stx_ctx": limits.max_ep_stx_ctx,
                "most_domains": limits.most_domains,
            },
            "plans": self.verdicts.iter().map(plan).collect::<Vec<_>>(),
        })
    }
}

/// A sentence that says which contexts the VCIs of a process use under a plan.
fn sentence(one: &VciVerdict, vcis: usize) -> String {
    match (one.plan, one.objects.vcis_on_one) {
        (VciPlan::Single, _) => {
            format!(
                "All VCIs of a process share one context of libfabric ({CONTEXT}), under a lock"
            )
        }
        (_, 0 | 1) => format!(
            "Each VCI of a process uses a context of libfabric of its own ({CONTEXT}), opened when it is first needed"
        ),
        _ => format!(
            "{vcis} VCIs of a process take {} contexts of libfabric ({CONTEXT}) round-robin, each under a lock",
            one.objects.domains
        ),
    }
}

/// The text for a report of a program: what is true between hosts, also where there is no libfabric.
pub(crate) fn section(vcis: usize, ranks: usize) -> String {
    let told = match Plans::here(vcis, ranks) {
        Ok(plans) => plans.text(),
        Err(error) => format!("The plans are unknown: {error}\n"),
    };
    let told: String = told
        .lines()
        .map(|line| format!("  {}\n", line.trim_start()))
        .collect();
    format!("\nVCIs on the network between hosts (docs/resources.md)\n{told}")
}

/// The same as JSON.
pub(crate) fn value(vcis: usize, ranks: usize) -> Value {
    match Plans::here(vcis, ranks) {
        Ok(plans) => plans.json(),
        Err(error) => json!({ "unknown": error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(most_domains: usize) -> Plans {
        let limits = ProviderLimits {
            ep_cnt: 8192,
            cq_cnt: 8192,
            tx_ctx_cnt: 8192,
            rx_ctx_cnt: 8192,
            max_ep_tx_ctx: 1,
            max_ep_rx_ctx: 1,
            max_ep_stx_ctx: 0,
            threading: vec![Threading::Safe, Threading::Domain, Threading::Completion],
            most_domains,
        };
        Plans::new("tcp on eth0".to_owned(), limits, 4, 2).expect("plans")
    }

    #[test]
    fn the_plan_in_use_and_the_refused_ones_are_told() {
        let text = plans(64).text();
        assert!(
            text.starts_with("Each VCI of a process uses a context of libfabric of its own"),
            "{text}"
        );
        for expected in [
            "FI_THREAD_DOMAIN      in use\n",
            "possible by RANKPOINT_NET_SHARING; up to 4 VCIs on one, round-robin",
            "refused: max_ep_tx_ctx gives a process 1, but 4 are needed",
            "'endpoint per VCI' would be chosen: 100 %",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let value = plans(64).json();
        assert_eq!(
            (&value["in_use"], &value["would_choose"]),
            (&"domain".into(), &"endpoint".into())
        );
    }

    #[test]
    fn fewer_contexts_than_vcis_are_told() {
        let text = plans(3).text();
        assert!(
            text.starts_with("4 VCIs of a process take 3 contexts of libfabric"),
            "{text}"
        );
        assert!(text.contains("in use; up to 2 VCIs on one"), "{text}");
        let text = plans(1).text();
        assert!(
            text.starts_with("All VCIs of a process share one context"),
            "{text}"
        );
        assert!(
            text.contains("refused: RANKPOINT_NET_SHARING gives a process 1, but 2 are needed"),
            "{text}"
        );
        assert_eq!(plans(1).json()["in_use"], "single");
    }
}
