/**
 * A source whose pending `next()` can be abandoned: a stuck body must not keep an upload alive that can no longer be stored.
 */
export interface Interruptible<T> {
  readonly parts: AsyncIterable<T>;
  /** The pending and later `next()` reject with `reason`; the source ends when it answers. */
  readonly interrupt: (reason: unknown) => void;
}

export function interruptible<T>(source: AsyncIterable<T>): Interruptible<T> {
  const iterator = source[Symbol.asyncIterator]();
  let interrupted: { readonly reason: unknown } | undefined;
  let giveUp: ((reason: unknown) => void) | undefined;
  const pull = async () => {
    const result = await iterator.next();
    // No reader is left for this part or for errors.
    if (interrupted !== undefined) void Promise.allSettled([iterator.return?.()]);
    return result;
  };
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      giveUp = reject;
      if (interrupted === undefined) pull().then(resolve, reject);
      else reject(interrupted.reason);
    });
  const end = async (): Promise<IteratorResult<T>> =>
    (await iterator.return?.()) ?? { done: true, value: undefined };
  return {
    parts: { [Symbol.asyncIterator]: () => ({ next, return: end }) },
    interrupt(reason) {
      interrupted ??= { reason };
      giveUp?.(reason);
    },
  };
}
