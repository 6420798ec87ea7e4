//! Waiting for the first of two futures, in an order that does not depend on chance.

use std::pin::pin;

pub use futures::future::Either;
use futures::future::select;

/// Waits for whichever is ready first; when both are, `left` wins. The other is dropped.
pub async fn first<A, B>(
    left: impl Future<Output = A>,
    right: impl Future<Output = B>,
) -> Either<A, B> {
    match select(pin!(left), pin!(right)).await {
        Either::Left((answer, _)) => Either::Left(answer),
        Either::Right((answer, _)) => Either::Right(answer),
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
