//! A request: does its part of a commit, and answers when the fate of the commit is known (P1).

use std::future::Future;

use futures_channel::oneshot;
use reveille_core::OpError;

use super::Batch;

/// A request on its way through the writer. Dropped without an answer, it answers `outcome_unknown`.
pub(crate) trait Request: Send {
    /// Does its part of a commit.
    fn apply(&mut self, batch: &mut Batch<'_>);

    /// Releases its answer, or refuses it.
    fn answer(self: Box<Self>, committed: &Result<(), OpError>);
}

struct Work<T, F> {
    work: Option<F>,
    answer: Option<Result<T, OpError>>,
    sender: oneshot::Sender<Result<T, OpError>>,
}

impl<T, F> Request for Work<T, F>
where
    T: Send,
    F: FnOnce(&mut Batch<'_>) -> Result<T, OpError> + Send,
{
    fn apply(&mut self, batch: &mut Batch<'_>) {
        self.answer = self.work.take().map(|work| work(batch));
    }

    fn answer(self: Box<Self>, committed: &Result<(), OpError>) {
        let answer = match (committed, self.answer) {
            (Ok(()), Some(answer)) => answer,
            (Err(error), _) => Err(error.clone()),
            (Ok(()), None) => return,
        };
        // Whoever asked may have gone; the step is done all the same.
        let _ = self.sender.send(answer);
    }
}

/// A request that does this work, and its answer.
pub(crate) fn request<T, F>(
    work: F,
) -> (Box<dyn Request>, impl Future<Output = Result<T, OpError>> + use<T, F>)
where
    T: Send + 'static,
    F: FnOnce(&mut Batch<'_>) -> Result<T, OpError> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let request = Work { work: Some(work), answer: None, sender };
    // The writer went away with the request: nobody can say how far it came.
    let answer = async move { receiver.await.unwrap_or(Err(OpError::OutcomeUnknown)) };
    (Box::new(request), answer)
}
