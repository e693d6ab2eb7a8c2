// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the VCIs of a process could use libfabric: which objects each plan takes, which limits of a provider it exceeds, and which
//! plan the accountant chooses.

use std::str::FromStr;

use crate::category::Category;
use crate::error::Error;
use crate::expectation::Expectation;
use crate::nic::Constants;
use crate::policy::Driver;

/// How threads may use the objects of a provider (`fi_domain`, threading).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Threading {
    /// Any thread may use any object.
    Safe,
    /// One thread at a time uses what belongs to one completion queue.
    Completion,
    /// One thread at a time uses a domain.
    Domain,
}

impl Threading {
    /// Its name in libfabric.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "FI_THREAD_SAFE",
            Self::Completion => "FI_THREAD_COMPLETION",
            Self::Domain => "FI_THREAD_DOMAIN",
        }
    }
}

/// What a provider offers, as `fi_getinfo` tells it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProviderLimits {
    /// Endpoints of a domain (`ep_cnt`).
    pub ep_cnt: usize,
    /// Completion queues of a domain (`cq_cnt`).
    pub cq_cnt: usize,
    /// Transmit contexts of a domain (`tx_ctx_cnt`).
    pub tx_ctx_cnt: usize,
    /// Receive contexts of a domain (`rx_ctx_cnt`).
    pub rx_ctx_cnt: usize,
    /// Transmit contexts of a scalable endpoint (`max_ep_tx_ctx`).
    pub max_ep_tx_ctx: usize,
    /// Receive contexts of a scalable endpoint (`max_ep_rx_ctx`).
    pub max_ep_rx_ctx: usize,
    /// Transmit contexts that endpoints can share (`max_ep_stx_ctx`).
    pub max_ep_stx_ctx: usize,
    /// Levels of threading that it offers.
    pub threading: Vec<Threading>,
    /// Domains that a process opens at most, by the user's choice and its descriptors; 0 for as many as VCIs.
    pub most_domains: usize,
}

/// A way for VCIs to use libfabric.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VciPlan {
    /// A domain, an endpoint, a completion queue and an address vector for each VCI.
    Domain,
    /// One domain; an endpoint and a completion queue for each VCI.
    Endpoint,
    /// One endpoint with a transmit and a receive context for each VCI.
    Scalable,
    /// An endpoint for each VCI; all of them share a transmit context.
    SharedTransmit,
    /// One endpoint for all VCIs, under a lock.
    Single,
}

impl VciPlan {
    /// All of them, the preferred one first among equals.
    pub const ALL: [Self; 5] = [
        Self::Endpoint,
        Self::Domain,
        Self::Scalable,
        Self::SharedTransmit,
        Self::Single,
    ];

    /// Its name in command lines.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Endpoint => "endpoint",
            Self::Scalable => "scalable",
            Self::SharedTransmit => "stx",
            Self::Single => "single",
        }
    }

    /// What it is.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Domain => "domain per VCI",
            Self::Endpoint => "endpoint per VCI",
            Self::Scalable => "scalable endpoint",
            Self::SharedTransmit => "shared transmit context",
            Self::Single => "one endpoint",
        }
    }

    /// Whether VCIs can use libfabric in this way today.
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Domain | Self::Single)
    }

    /// The category whose sharing it is like.
    pub const fn category(self) -> Category {
        match self {
            Self::Domain => Category::Everywhere,
            Self::Endpoint | Self::Scalable => Category::Dynamic,
            Self::SharedTransmit | Self::Single => Category::Threads,
        }
    }

    /// The threading that it needs at least.
    pub const fn threading(self) -> Threading {
        match self {
            Self::Domain | Self::Single => Threading::Domain,
            Self::Endpoint | Self::Scalable => Threading::Completion,
            Self::SharedTransmit => Threading::Safe,
        }
    }
}

impl FromStr for VciPlan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|plan| plan.key() == text);
        let expected = "domain, endpoint, scalable, stx, single or auto";
        found.ok_or_else(|| Error::unknown("plan of VCIs", text, expected))
    }
}

/// Objects of libfabric in one process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VciObjects {
    /// `fi_domain`.
    pub domains: usize,
    /// `fi_endpoint` or `fi_scalable_ep`.
    pub endpoints: usize,
    /// Transmit contexts.
    pub transmit: usize,
    /// `fi_cq_open`.
    pub completion_queues: usize,
    /// `fi_av_open`.
    pub address_vectors: usize,
    /// Most VCIs on one endpoint or transmit context.
    pub vcis_on_one: usize,
}

/// A limit of a provider that a plan exceeds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The attribute of `fi_getinfo`.
    pub attribute: &'static str,
    /// What the plan needs.
    pub needed: usize,
    /// What one process has of it.
    pub available: usize,
}

/// A plan, what it takes, and what speaks against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VciVerdict {
    /// The plan.
    pub plan: VciPlan,
    /// Its objects in each process.
    pub objects: VciObjects,
    /// The first limit that it exceeds.
    pub refusal: Option<Refusal>,
    /// Throughput of as many threads as VCIs, relative to a process for each.
    pub expectation: Expectation,
}

/// What can be said of each plan for the `vcis` VCIs of each of `ranks` processes on a node.
pub fn vci_plans(
    limits: &ProviderLimits,
    vcis: usize,
    ranks: usize,
    constants: &Constants,
) -> Vec<VciVerdict> {
    let verdict = |plan| {
        let refusal = refusal(plan, limits, vcis, ranks);
        let objects = objects(plan, limits, vcis, ranks);
        let mut expectation = Expectation::new(plan.category(), Driver::Legacy, vcis, constants);
        if objects.vcis_on_one > 1 && plan.category() != Category::Threads {
            let users = objects.vcis_on_one as f64;
            expectation.share = 1.0 / users / (1.0 + constants.qp_handover);
        }
        VciVerdict {
            plan,
            objects,
            refusal,
            expectation,
        }
    };
    VciPlan::ALL.map(verdict).to_vec()
}

/// The plan with the highest throughput among those that no limit refuses; then that with the fewest domains, then the preferred one.
pub fn choose_vci_plan(verdicts: &[VciVerdict]) -> Option<&VciVerdict> {
    let allowed = verdicts.iter().filter(|one| one.refusal.is_none());
    allowed.min_by(|one, other| {
        let throughput = other.expectation.share.total_cmp(&one.expectation.share);
        throughput.then(one.objects.domains.cmp(&other.objects.domains))
    })
}

/// The plan in use: the same choice among those that are written.
pub fn vci_plan_in_use(verdicts: &[VciVerdict]) -> Option<&VciVerdict> {
    let written = verdicts.iter().filter(|one| one.plan.is_written());
    let written: Vec<VciVerdict> = written.copied().collect();
    let plan = choose_vci_plan(&written)?.plan;
    verdicts.iter().find(|one| one.plan == plan)
}

/// What one of `ranks` processes on a node has of something, at least one.
fn own(all: usize, ranks: usize) -> usize {
    (all / ranks.max(1)).max(1)
}

fn objects(plan: VciPlan, limits: &ProviderLimits, vcis: usize, ranks: usize) -> VciObjects {
    let domains = match plan {
        VciPlan::Domain if limits.most_domains > 0 => vcis.min(limits.most_domains),
        VciPlan::Domain => vcis,
        _ => 1,
    };
    let endpoints = match plan {
        VciPlan::Domain => domains,
        VciPlan::Endpoint | VciPlan::SharedTransmit => vcis.min(own(limits.ep_cnt, ranks)),
        VciPlan::Scalable | VciPlan::Single => 1,
    };
    let contexts = match plan {
        VciPlan::Domain | VciPlan::Endpoint => endpoints,
        VciPlan::Scalable => vcis,
        VciPlan::SharedTransmit | VciPlan::Single => 1,
    };
    VciObjects {
        domains,
        endpoints,
        transmit: contexts,
        completion_queues: endpoints.max(contexts),
        address_vectors: domains,
        vcis_on_one: vcis.div_ceil(contexts.max(1)),
    }
}

fn refusal(plan: VciPlan, limits: &ProviderLimits, vcis: usize, ranks: usize) -> Option<Refusal> {
    if !limits.threading.contains(&plan.threading()) {
        return Some(Refusal {
            attribute: plan.threading().name(),
            needed: 1,
            available: 0,
        });
    }
    let needs: &[(&'static str, usize, usize)] = match plan {
        VciPlan::Domain => &[
            ("ep_cnt", 1, limits.ep_cnt),
            ("cq_cnt", 1, limits.cq_cnt),
            // Fewer domains than VCIs are used round-robin; one domain for all VCIs is the plan of one endpoint.
            (
                "RANKPOINT_NET_SHARING",
                if limits.most_domains > 0 {
                    2.min(vcis)
                } else {
                    0
                },
                limits.most_domains,
            ),
        ],
        VciPlan::Single => &[("ep_cnt", 1, limits.ep_cnt), ("cq_cnt", 1, limits.cq_cnt)],
        // Fewer endpoints than VCIs are used round-robin.
        VciPlan::Endpoint => &[
            ("ep_cnt", 2.min(vcis), limits.ep_cnt / ranks.max(1)),
            ("cq_cnt", 2.min(vcis), limits.cq_cnt / ranks.max(1)),
        ],
        VciPlan::Scalable => &[
            ("max_ep_tx_ctx", vcis, limits.max_ep_tx_ctx),
            ("max_ep_rx_ctx", vcis, limits.max_ep_rx_ctx),
            ("tx_ctx_cnt", vcis, limits.tx_ctx_cnt / ranks.max(1)),
            ("rx_ctx_cnt", vcis, limits.rx_ctx_cnt / ranks.max(1)),
            ("cq_cnt", vcis, limits.cq_cnt / ranks.max(1)),
        ],
        VciPlan::SharedTransmit => &[
            ("max_ep_stx_ctx", 1, limits.max_ep_stx_ctx),
            ("ep_cnt", 1, limits.ep_cnt / ranks.max(1)),
        ],
    };
    let exceeded = needs
        .iter()
        .find(|&&(_, needed, available)| needed > available);
    exceeded.map(|&(attribute, needed, available)| Refusal {
        attribute,
        needed,
        available,
    })
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.attribute.starts_with("FI_THREAD") {
            return write!(f, "the provider does not offer {}", self.attribute);
        }
        write!(
            f,
            "{} gives a process {}, but {} are needed",
            self.attribute, self.available, self.needed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn constants() -> Constants {
        let nic = Profile::named("connectx4").expect("a profile");
        nic.constants.expect("constants")
    }

    fn limits() -> ProviderLimits {
        ProviderLimits {
            ep_cnt: 64,
            cq_cnt: 64,
            tx_ctx_cnt: 64,
            rx_ctx_cnt: 64,
            max_ep_tx_ctx: 1,
            max_ep_rx_ctx: 1,
            max_ep_stx_ctx: 0,
            most_domains: 0,
            threading: vec![Threading::Safe, Threading::Completion, Threading::Domain],
        }
    }

    fn chosen(limits: &ProviderLimits, vcis: usize, ranks: usize) -> (VciPlan, VciObjects) {
        let all = vci_plans(limits, vcis, ranks, &constants());
        let best = choose_vci_plan(&all).expect("a plan");
        (best.plan, best.objects)
    }

    #[test]
    fn a_few_vcis_get_endpoints_of_one_domain_and_many_get_domains() {
        let (plan, objects) = chosen(&limits(), 4, 1);
        assert_eq!(
            (plan, objects.endpoints, objects.domains),
            (VciPlan::Endpoint, 4, 1)
        );
        let (plan, objects) = chosen(&limits(), 16, 1);
        assert_eq!(
            (plan, objects.endpoints, objects.domains),
            (VciPlan::Domain, 16, 16)
        );
    }

    #[test]
    fn the_plan_in_use_is_one_domain_per_vci_as_far_as_domains_go() {
        let in_use = |most_domains, vcis| {
            let limits = ProviderLimits {
                most_domains,
                ..limits()
            };
            let all = vci_plans(&limits, vcis, 1, &constants());
            let one = vci_plan_in_use(&all).expect("a plan");
            (one.plan, one.objects.domains, one.objects.vcis_on_one)
        };
        assert_eq!(in_use(0, 4), (VciPlan::Domain, 4, 1));
        assert_eq!(in_use(64, 4), (VciPlan::Domain, 4, 1));
        assert_eq!(in_use(3, 8), (VciPlan::Domain, 3, 3));
        assert_eq!(in_use(1, 4), (VciPlan::Single, 1, 4));
        let limits = ProviderLimits {
            most_domains: 1,
            ..limits()
        };
        let all = vci_plans(&limits, 4, 1, &constants());
        let domain = all.iter().find(|one| one.plan == VciPlan::Domain);
        let refusal = domain.and_then(|one| one.refusal).expect("refused");
        let expected = "RANKPOINT_NET_SHARING gives a process 1, but 2 are needed";
        assert_eq!(refusal.to_string(), expected);
    }

    #[test]
    fn refusals_name_the_attribute() {
        let all = vci_plans(&limits(), 4, 1, &constants());
        let of = |plan| {
            let one = all.iter().find(|one| one.plan == plan).expect("all plans");
            one.refusal.map(|refusal| refusal.to_string())
        };
        let expected = "max_ep_tx_ctx gives a process 1, but 4 are needed";
        assert_eq!(of(VciPlan::Scalable).as_deref(), Some(expected));
        let expected = "max_ep_stx_ctx gives a process 0, but 1 are needed";
        assert_eq!(of(VciPlan::SharedTransmit).as_deref(), Some(expected));
        assert_eq!(of(VciPlan::Single), None);
    }

    #[test]
    fn without_other_threading_only_plans_with_locks_or_domains_remain() {
        let threading = vec![Threading::Domain];
        let all = vci_plans(
            &ProviderLimits {
                threading,
                ..limits()
            },
            4,
            1,
            &constants(),
        );
        let allowed = all.iter().filter(|one| one.refusal.is_none());
        let allowed: Vec<VciPlan> = allowed.map(|one| one.plan).collect();
        assert_eq!(allowed, [VciPlan::Domain, VciPlan::Single]);
        let of = |plan| {
            all.iter()
                .find(|one| one.plan == plan)
                .and_then(|one| one.refusal)
        };
        let refusal = of(VciPlan::Endpoint).expect("refused").to_string();
        assert_eq!(refusal, "the provider does not offer FI_THREAD_COMPLETION");
    }

    #[test]
    fn ranks_of_a_node_share_the_endpoints_and_vcis_take_them_round_robin() {
        let all = vci_plans(&limits(), 8, 16, &constants());
        let endpoint = all
            .iter()
            .find(|one| one.plan == VciPlan::Endpoint)
            .expect("a plan");
        assert_eq!(
            (endpoint.objects.endpoints, endpoint.objects.vcis_on_one),
            (4, 2)
        );
        assert_eq!(endpoint.refusal, None);
        assert!(endpoint.expectation.share < 0.5);
    }
}
