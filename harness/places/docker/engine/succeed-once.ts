/** Work done once for all who ask, and again after a failure. */
export function succeedOnce<T, Given extends readonly unknown[]>(
  work: (...given: Given) => Promise<T>,
): (...given: Given) => Promise<T> {
  let done: Promise<T> | undefined;
  return (...given) => {
    done ??= work(...given).catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
