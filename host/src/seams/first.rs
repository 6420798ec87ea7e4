//! Waiting for the first of two futures, in an order that does not depend on chance.

use std::pin::Pin;
use std::task::{Context, Poll};

pub use futures::future::Either;
use pin_project_lite::pin_project;

/// Waits for whichever is ready first; when both are, `left` wins. The other is dropped with this.
///
/// No `async fn`: that would hold each of them twice, as it was given and where it is polled, and a few such in each
/// other are most of what an idle plugin holds.
pub fn first<A: Future, B: Future>(left: A, right: B) -> First<A, B> {
    First { left, right }
}

pin_project! {
    /// See [`first`].
    #[must_use = "it waits for nothing unless it is awaited"]
    pub struct First<A, B> {
        #[pin]
        left: A,
        #[pin]
        right: B,
    }
}

impl<A: Future, B: Future> Future for First<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let both = self.project();
        if let Poll::Ready(answer) = both.left.poll(context) {
            return Poll::Ready(Either::Left(answer));
        }
        both.right.poll(context).map(Either::Right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn the_left_one_wins_a_tie() {
        assert!(matches!(first(ready(1), ready(2)).await, Either::Left(1)));
        assert!(matches!(
            first(pending::<()>(), ready(2)).await,
            Either::Right(2)
        ));
    }
}
