// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both sides of [`Variant::Write`] on rings, event by event: what a driver sees.

use crate::{
    Config, Fabric, Key, Kind, Offer, PostedReceive, ReceiveAction, ReceiveEvent, ReceiveId,
    ReceiveSide, SendAction, SendEvent, SendId, SendSide, Source, Variant,
};

const KEY: Key = Key::new(2, 7);
const SEND: SendId = SendId(1);
const RECEIVE: ReceiveId = ReceiveId(9);
const SOURCE: Source = Source(0);
const BYTES: u64 = 1 << 20;
const CAPACITY: u64 = 2 << 20;
const OFFER: Offer = Offer {
    receive: RECEIVE,
    key: KEY,
    capacity: CAPACITY,
    number: 0,
};

fn sides() -> (SendSide, ReceiveSide) {
    let config = Config::new(Variant::Write, Fabric::RINGS);
    (SendSide::new(config), ReceiveSide::new(config))
}

fn of_send(side: &mut SendSide, event: SendEvent) -> Vec<SendAction> {
    let mut out = Vec::new();
    side.handle(event, &mut out);
    out
}

fn of_receive(side: &mut ReceiveSide, event: ReceiveEvent) -> Vec<ReceiveAction> {
    let mut out = Vec::new();
    side.handle(event, &mut out);
    out
}

fn posted_send(is_blocked: bool) -> SendEvent {
    SendEvent::Posted {
        send: SEND,
        key: KEY,
        bytes: BYTES,
        kind: Kind::Long,
        is_blocked,
    }
}

fn offer(side: &mut ReceiveSide) {
    let posted = ReceiveEvent::Posted {
        receive: RECEIVE,
        source: SOURCE,
        key: KEY,
        capacity: CAPACITY,
        is_long: true,
    };
    assert!(matches!(
        of_receive(side, posted)[..],
        [ReceiveAction::SendRtr { .. }]
    ));
}

fn rts() -> ReceiveEvent {
    ReceiveEvent::Rts {
        receive: RECEIVE,
        capacity: CAPACITY,
        source: SOURCE,
        send: SEND,
        key: KEY,
        bytes: BYTES,
    }
}

const WRITE: SendAction = SendAction::Write {
    send: SEND,
    receive: RECEIVE,
    bytes: BYTES,
    rts_sent: false,
};
const LANDED: SendAction = SendAction::SendLanded {
    send: SEND,
    receive: RECEIVE,
    bytes: BYTES,
};
const CLAIM: SendAction = SendAction::Claim {
    send: SEND,
    receive: RECEIVE,
};

fn claimed(is_won: bool, in_parts: bool) -> SendEvent {
    SendEvent::Claimed {
        send: SEND,
        is_won,
        in_parts,
    }
}

#[test]
fn an_offered_receive_is_claimed_written_and_landed() {
    let (mut sender, mut receiver) = sides();
    offer(&mut receiver);
    let rtr = SendEvent::Rtr {
        offer: OFFER,
        is_blocked: false,
    };
    assert_eq!(of_send(&mut sender, rtr), []);
    assert_eq!(of_send(&mut sender, posted_send(false)), [CLAIM]);
    assert_eq!(of_send(&mut sender, claimed(true, false)), [WRITE]);
    let written = of_send(&mut sender, SendEvent::Written { send: SEND });
    assert_eq!(written, [LANDED, SendAction::Complete { send: SEND }]);
    let landed = ReceiveEvent::Landed {
        source: SOURCE,
        receive: RECEIVE,
        bytes: BYTES,
    };
    let (receive, bytes) = (RECEIVE, BYTES);
    let expected = [
        ReceiveAction::Unlink { receive, bytes },
        ReceiveAction::Complete { receive, bytes },
    ];
    assert_eq!(of_receive(&mut receiver, landed), expected);
    assert!(sender.is_idle() && receiver.is_idle());
}

#[test]
fn a_write_that_is_refused_goes_on_as_chunks_behind_taken() {
    let (mut sender, _) = sides();
    let rtr = SendEvent::Rtr {
        offer: OFFER,
        is_blocked: false,
    };
    of_send(&mut sender, rtr);
    of_send(&mut sender, posted_send(false));
    of_send(&mut sender, claimed(true, false));
    let (send, receive, bytes) = (SEND, RECEIVE, BYTES);
    let taken = SendAction::SendTaken {
        send,
        receive,
        bytes,
    };
    let refused = of_send(&mut sender, SendEvent::Refused { send });
    assert_eq!(refused, [taken, SendAction::Push { send, receive }]);
    let pushed = of_send(&mut sender, SendEvent::Pushed { send });
    assert_eq!(pushed, [SendAction::Complete { send }]);
}

#[test]
fn a_message_on_its_way_keeps_a_send_from_claiming() {
    let (mut sender, _) = sides();
    let rtr = SendEvent::Rtr {
        offer: OFFER,
        is_blocked: false,
    };
    of_send(&mut sender, rtr);
    let rts = [SendAction::SendRts { send: SEND }];
    assert_eq!(of_send(&mut sender, posted_send(true)), rts);
    assert_eq!(sender.oldest_open(KEY), None);
}

#[test]
fn a_crossing_rtr_serves_the_open_rts_unless_something_precedes_it() {
    for is_blocked in [false, true] {
        let (mut sender, mut receiver) = sides();
        offer(&mut receiver);
        let rts_out = [SendAction::SendRts { send: SEND }];
        assert_eq!(of_send(&mut sender, posted_send(false)), rts_out);
        assert_eq!(sender.oldest_open(KEY), Some(SEND));
        let rtr = SendEvent::Rtr {
            offer: OFFER,
            is_blocked,
        };
        let claims = if is_blocked { vec![] } else { vec![CLAIM] };
        assert_eq!(of_send(&mut sender, rtr), claims);
        assert_eq!(sender.oldest_open(KEY), None);
        let revoke = [ReceiveAction::Revoke { receive: RECEIVE }];
        assert_eq!(of_receive(&mut receiver, rts()), revoke);
        let revoked = ReceiveEvent::Revoked {
            receive: RECEIVE,
            is_won: is_blocked,
        };
        let reads = matches!(
            of_receive(&mut receiver, revoked)[..],
            [ReceiveAction::Read { .. }]
        );
        assert_eq!(reads, is_blocked);
    }
}

#[test]
fn what_stands_behind_a_wildcard_or_an_unoffered_receive_is_not_offered() {
    let (_, receiver) = sides();
    let candidate = PostedReceive {
        receive: RECEIVE,
        source: Some(SOURCE),
        key: KEY,
        is_long: true,
    };
    let earlier = |source, key| PostedReceive {
        receive: ReceiveId(1),
        source,
        key,
        is_long: true,
    };
    assert!(receiver.may_offer([], candidate));
    let any_tag = Key::new(2, Key::ANY_TAG);
    let blockers = [(None, KEY), (Some(SOURCE), any_tag), (Some(SOURCE), KEY)];
    for (source, key) in blockers {
        assert!(!receiver.may_offer([earlier(source, key)], candidate));
    }
    let others = [
        (Some(Source(1)), KEY),
        (Some(SOURCE), Key::new(2, 8)),
        (None, Key::new(4, 7)),
    ];
    for (source, key) in others {
        assert!(receiver.may_offer([earlier(source, key)], candidate));
    }
}

#[test]
fn a_sender_gets_no_more_rtrs_than_it_has_room_for() {
    let (mut sender, mut receiver) = sides();
    for index in 0..Config::OFFERS_PER_PEER as u64 {
        assert!(receiver.has_room(SOURCE) && !sender.is_full());
        let receive = ReceiveId(index);
        let posted = ReceiveEvent::Posted {
            receive,
            source: SOURCE,
            key: KEY,
            capacity: CAPACITY,
            is_long: true,
        };
        of_receive(&mut receiver, posted);
        let rtr = SendEvent::Rtr {
            offer: Offer { receive, ..OFFER },
            is_blocked: false,
        };
        of_send(&mut sender, rtr);
    }
    assert!(!receiver.has_room(SOURCE) && sender.is_full());
    let rtr = SendEvent::Rtr {
        offer: OFFER,
        is_blocked: false,
    };
    assert!(matches!(
        of_send(&mut sender, rtr)[..],
        [SendAction::Fault { .. }]
    ));
    sender.retain_offers(|offer| offer.receive != ReceiveId(3));
    assert_eq!(of_send(&mut sender, rtr), []);
}
