//! A resident actor: the ractor actor that runs one actor's turns, one at a time (S8, P3, P7).
//!
//! It keeps no mail and remembers no wake. Whatever happens (a hint, a timer, the end of a turn) it
//! asks the store how the actor stands and the core what the actor needs, and does that (P5). Its
//! mailbox only ever carries hints, so a cancel never waits behind mail.

mod cancel;
mod cut;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reveille_core::failure::TurnFailure;
use reveille_core::need::{Need, Standing, Start, need};
use reveille_core::{Address, AgentName, Cause, FailureClass, InjectionId, RunId, Seq, Timestamp};
use reveille_store::record::Number;
use reveille_store::step::Token;
use reveille_store::step::chores::DoChores;
use reveille_store::step::end::FailTurn;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::agent::BoxAgent;
use crate::execution::{Loan, Order, conclude, execute};
use crate::hub::{Flags, Hub, Phase, Resident};
use crate::ops;
use crate::pulse::Pulse;
use crate::slots::Place;

pub(crate) use self::cancel::CancelRequest;

/// What a resident actor is told.
pub(crate) enum Message {
    /// Something may have changed.
    Look,
    /// A turn's task ended and gives back what it borrowed.
    Returned {
        /// Which turn.
        pulse: Arc<Pulse>,
        /// The agent, unless it panicked.
        agent: Option<BoxAgent>,
    },
    /// The run is to end.
    Cancel(CancelRequest),
    /// The grace of a cancelled turn is over.
    GraceOver(Arc<Pulse>),
    /// The grace of a turn that mail interrupts is over.
    InterruptOver(Arc<Pulse>),
    /// A turn that was cut did not return.
    Abandoned(Arc<Pulse>),
    /// The runtime closes: a turn that is still running is cut.
    Cut,
}

/// What a look at the store finds.
struct Found {
    standing: Standing,
    /// Whether a run is under way.
    goes_on: bool,
    turn: Option<Token>,
    orphans: Vec<(Address, RunId)>,
    chores: bool,
    /// When something falls due by itself.
    next: Option<Timestamp>,
    /// Whether mail wants the turn to end.
    interrupt: bool,
}

/// Aborts a task when dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A turn whose task has not returned.
struct Running {
    pulse: Arc<Pulse>,
    task: Task,
    cancels: Vec<CancelRequest>,
    /// When the earliest cancel's grace is over.
    deadline: Option<Instant>,
    /// A cancel's grace, or the time that a cut turn has to return.
    patience: Option<Task>,
    /// Whether a window began it.
    window: bool,
    /// Whether mail has asked the turn to end.
    interrupted: bool,
    /// What a turn that was cut had been given: its agent is asked what it has of it.
    cut: Vec<(InjectionId, Vec<Seq>)>,
}

/// Who a resident actor is.
pub(crate) struct Identity {
    pub(crate) hub: Arc<Hub>,
    pub(crate) number: Number,
    pub(crate) flags: Arc<Flags>,
}

/// What a resident actor has in memory: nothing that a restart would miss.
pub(crate) struct State {
    hub: Arc<Hub>,
    number: Number,
    flags: Arc<Flags>,
    address: Address,
    agent_name: Option<AgentName>,
    agent: Option<BoxAgent>,
    running: Option<Running>,
    timer: Option<Task>,
    /// Runs of workers that are being ended with a run of this actor.
    closed: HashSet<RunId>,
    /// Whether a window was open, or closed without a claim, when it looked last: when no mail that
    /// may wake is left, its wake was stale (W2).
    window: bool,
}

/// The behaviour of resident actors.
pub(crate) struct ResidentActor;

impl Actor for ResidentActor {
    type Msg = Message;
    type State = State;
    type Arguments = Identity;

    async fn pre_start(
        &self,
        myself: ActorRef<Message>,
        identity: Identity,
    ) -> Result<State, ActorProcessingErr> {
        let Identity { hub, number, flags } = identity;
        let found = hub
            .store
            .look(move |state| {
                let row = state.row(number)?;
                let token = row.turn.map(|turn| Token {
                    incarnation: state.incarnation(),
                    actor: number,
                    turn,
                });
                Some((row.address.clone(), row.agent.clone(), token))
            })
            .await?;
        let (address, agent_name, left_over) = found.ok_or("there is no such actor")?;
        if let Some(token) = left_over {
            lose(&hub, token, Cause::Crash).await;
        }
        hub.settle_in(number, Resident::new(myself.clone(), Arc::clone(&flags)));
        myself.cast(Message::Look)?;
        Ok(State {
            hub,
            number,
            flags,
            address,
            agent_name,
            agent: None,
            running: None,
            timer: None,
            closed: HashSet::new(),
            window: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Look => state.flags.hinted.store(false, Ordering::Release),
            Message::Returned { pulse, agent } => state.returned(&myself, &pulse, agent).await,
            Message::Cancel(request) => state.cancel(&myself, request).await,
            Message::GraceOver(pulse) => state.grace_over(&myself, &pulse).await,
            Message::InterruptOver(pulse) => state.interrupt_over(&myself, &pulse).await,
            Message::Abandoned(pulse) => state.abandoned(&pulse),
            Message::Cut => state.cut(&myself).await,
        }
        state.advance(&myself).await;
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Message>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.hub.set_executing(state.number, false);
        state.hub.move_out(state.number);
        Ok(())
    }
}

impl State {
    /// Ends what goes on below a run that has ended, each once (S6).
    fn close(&mut self, orphans: Vec<(Address, RunId)>) {
        self.closed.retain(|run| orphans.iter().any(|(_, orphan)| orphan == run));
        for (child, run) in orphans {
            if self.closed.insert(run) {
                ops::close_child(&self.hub, child, run);
            }
        }
    }

    /// Does what the actor needs now.
    async fn advance(&mut self, myself: &ActorRef<Message>) {
        self.timer = None;
        self.flags.looks.store(false, Ordering::Release);
        let (number, now) = (self.number, self.hub.clock.now());
        let found = self.hub.store.look(move |state| {
            let row = state.row(number)?;
            let token = |turn| Token { incarnation: state.incarnation(), actor: number, turn };
            Some(Found {
                standing: row.standing(now),
                goes_on: row.run.as_ref().is_some_and(|run| run.begun),
                turn: row.turn.map(token),
                orphans: state.orphans(number),
                chores: row.has_chores(now),
                next: row.next_moment(now),
                interrupt: row.wants_interrupt(now),
            })
        });
        let Ok(Some(found)) = found.await else {
            return;
        };
        if found.chores {
            return self.do_chores(myself).await;
        }
        if self.running.is_some() {
            if found.interrupt && found.turn.is_some() {
                self.interrupt(myself).await;
            }
            self.flags.looks.store(true, Ordering::Release);
            return self.look_at(myself, found.next, now);
        }
        self.close(found.orphans);
        if std::mem::take(&mut self.window) && found.standing.mail.is_none() {
            self.hub.stale_wake();
        }
        if let Some(token) = found.turn {
            // Its task is over and did not say how it ended. The commit of that looks again.
            lose(&self.hub, token, Cause::Crash).await;
            self.timer = Some(after(Duration::ZERO, myself, Message::Look));
            return;
        }
        let spec = self.agent_name.as_ref().and_then(|name| self.hub.agent(name));
        let unmade = self.hub.unmade_until(number).filter(|until| *until > now);
        let closing = self.hub.phase() != Phase::Running;
        let held = found.standing.held || spec.is_none() || closing || unmade.is_some();
        let standing = Standing { held, ..found.standing };
        let waits = held || standing.mail.is_some() || standing.again_at.is_some();
        self.flags.looks.store(waits || standing.queued, Ordering::Release);
        match (need(&standing, now, self.hub.config.window), spec) {
            (Need::Turn(start), Some(spec)) => {
                let Some(agent) = self.agent_name.clone() else {
                    return;
                };
                let place = if found.goes_on { Place::Head } else { Place::Tail };
                let address = self.address.clone();
                self.start(myself, Order { address, agent, spec, start, place });
                self.look_at(myself, found.next, now);
            }
            (Need::Look(at), _) => {
                self.window = standing.mail.is_some();
                self.look_at(myself, found.next.into_iter().chain([at]).min(), now);
            }
            (Need::Turn(_) | Need::Nothing, _) => {
                self.look_at(myself, found.next.into_iter().chain(unmade).min(), now);
            }
        }
    }

    /// Does what fell due by itself; what that changes is looked at afterwards.
    async fn do_chores(&mut self, myself: &ActorRef<Message>) {
        let (again, done) = (Message::Look, self.hub.store.run(DoChores { actor: self.number }));
        // A store that failed does not get better by asking at once.
        let pause = if done.await.is_ok() { Duration::ZERO } else { Duration::from_secs(1) };
        self.timer = Some(after(pause, myself, again));
    }

    fn look_at(&mut self, myself: &ActorRef<Message>, at: Option<Timestamp>, now: Timestamp) {
        self.timer = at.map(|at| after(at.since(now), myself, Message::Look));
    }

    fn start(&mut self, myself: &ActorRef<Message>, order: Order) {
        let stall_after = order.spec.stall_after.unwrap_or(self.hub.config.stall_after);
        let pulse = Arc::new(Pulse::new(Arc::clone(&self.hub.clock), stall_after));
        let agent = self.agent.take();
        let loan = self.loan(myself, agent, &pulse);
        let window = order.start == Start::Window;
        self.hub.set_executing(self.number, true);
        let task = Task(tokio::spawn(execute(loan, order)));
        self.running = Some(Running {
            pulse,
            task,
            cancels: Vec::new(),
            deadline: None,
            patience: None,
            window,
            interrupted: false,
            cut: Vec::new(),
        });
    }

    /// A turn's task is over.
    async fn returned(
        &mut self,
        myself: &ActorRef<Message>,
        pulse: &Arc<Pulse>,
        agent: Option<BoxAgent>,
    ) {
        let Some(mut running) = self.running.take_if(|running| Arc::ptr_eq(&running.pulse, pulse))
        else {
            return;
        };
        self.window = running.window && running.pulse.token.lock().is_none();
        let cut = std::mem::take(&mut running.cut);
        if agent.is_some() && !cut.is_empty() {
            // In a task of its own: an agent's code never runs in a handler (S8).
            let loan = self.loan(myself, agent, pulse);
            running.task = Task(tokio::spawn(conclude(loan, cut)));
            running.patience = None;
            self.running = Some(running);
            return;
        }
        self.agent = agent;
        self.hub.set_executing(self.number, false);
        for request in running.cancels {
            request.after_return(&self.hub).await;
        }
    }

    fn loan(
        &self,
        myself: &ActorRef<Message>,
        agent: Option<BoxAgent>,
        pulse: &Arc<Pulse>,
    ) -> Loan {
        Loan {
            agent,
            pulse: Arc::clone(pulse),
            hub: Arc::clone(&self.hub),
            actor: self.number,
            home: myself.clone(),
        }
    }
}

/// Writes that a turn was lost. Refused when it ended meanwhile: then there is nothing to write.
async fn lose(hub: &Hub, token: Token, cause: Cause) {
    let lost = FailTurn {
        token,
        failure: TurnFailure::Lost { charged: false },
        class: FailureClass::Transient,
        error: format!("the turn was cut off ({cause})"),
        back_off: Duration::ZERO,
        cause,
    };
    if let Err(error) = hub.store.run(lost).await {
        tracing::debug!(code = %error.code(), "a lost turn had ended");
    }
}

/// Casts a message to an actor after a while.
fn after(span: Duration, to: &ActorRef<Message>, message: Message) -> Task {
    let to = to.clone();
    Task(tokio::spawn(async move {
        tokio::time::sleep(span).await;
        // An actor that is gone needs no timer.
        let _ = to.cast(message);
    }))
}
