/** JSON bodies whose shape is the client's responsibility. */
import type { Dialect } from '../dialect.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';

/**
 * @param parse throws for another shape @param otherwise the public network's answer then; the other dialect says 400, and
 *   why
 */
export function shaped<T>(parse: () => T, dialect: Dialect, otherwise: ApiErrorCode): Promise<T> {
  return orElse(otherwise, () => {
    try {
      return parse();
    } catch (cause) {
      if (!dialect.strictRequests) throw cause;
      const error = cause instanceof SyntaxError ? 'no JSON' : (cause as Error).message;
      throw new ApiError('INVALID_BODY_PARAMS', { reasons: [{ field: 'body', error }], cause });
    }
  });
}
