// SPDX-License-Identifier: MIT OR Apache-2.0
//! A VCI in a forked child.

use std::mem::{ManuallyDrop, take};

use fabric::transport::{Null, Transport};

use super::VciState;
use crate::errors::Error;

impl VciState {
    /// Cuts the VCI off from its peers: nothing arrives, no connection and no request can be made, and each wait fails with `why`. What
    /// the parent uses is neither used nor given back.
    #[cold]
    pub(crate) fn cut_off(&mut self, why: &Error) {
        self.links.cut_off(why.to_string());
        let nothing = Transport::Null(Null::new(0, 0));
        let _parents = ManuallyDrop::new(std::mem::replace(&mut self.transport, nothing));
        let _parents = ManuallyDrop::new(take(&mut self.incoming));
        let _parents = ManuallyDrop::new((take(&mut self.backlogs), take(&mut self.streaming)));
        self.slab.close(why.clone());
        self.fault = Some(why.clone());
    }
}
