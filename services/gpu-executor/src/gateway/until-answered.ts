import { retry } from '@runledger/resilience/retry';
import type { GatewayRefusal } from './gateway-request.ts';

export interface UntilAnswered {
  /** The attempt stops: the run is cancelled or requeued, or the executor stops. */
  readonly stop: AbortSignal;
  /** Called before each wait. `level`: how to log it. A gateway that starts beside this executor, or anew, is no reason to warn. */
  readonly onRetry: (why: string, level: 'info' | 'warn') => void;
}

export type Answered<Ok> =
  | Ok
  | Extract<GatewayRefusal, { readonly kind: 'not_current' | 'refused' }>
  | { readonly kind: 'stopped' };

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** Together 8 to 16 seconds. */
const USUAL_RETRIES = 6;
/** The gateway may read the assignment a little later than this executor, and refuses the attempt until then. */
const MAX_NOT_CURRENT = 6;

/** Repeats a request of an attempt while the gateway is unavailable, or has not read the assignment yet. */
export const untilAnswered = async <Ok extends { readonly kind: string }>(
  { stop, onRetry }: UntilAnswered,
  ask: () => Promise<Ok | GatewayRefusal>,
): Promise<Answered<Ok>> => {
  let notCurrent = 0;
  const options = {
    firstMs: FIRST_RETRY_MS,
    longestMs: MAX_RETRY_MS,
    signal: stop,
    isUnavailable: (error: unknown) => error instanceof NotYet,
    leastMs: (error: unknown) => (error instanceof NotYet ? Math.min(error.leastMs, MAX_RETRY_MS) : 0),
    onRetry: (error: unknown, tries: number) =>
      onRetry(
        String(error instanceof Error ? error.message : error),
        tries <= USUAL_RETRIES ? 'info' : 'warn',
      ),
  };
  try {
    return await retry(options, async () => {
      const answer = await ask();
      if (!isRefusal(answer)) return answer;
      if (answer.kind === 'unavailable') throw new NotYet(answer.why, answer.retryAfterMs ?? 0);
      if (answer.kind === 'not_current' && (notCurrent += 1) <= MAX_NOT_CURRENT)
        throw new NotYet(answer.why, 0);
      return answer;
    });
  } catch (error) {
    if (stop.aborted) return { kind: 'stopped' };
    throw error;
  }
};

const isRefusal = (answer: { readonly kind: string }): answer is GatewayRefusal =>
  answer.kind === 'unavailable' || answer.kind === 'not_current' || answer.kind === 'refused';

class NotYet extends Error {
  readonly leastMs: number;

  constructor(why: string, leastMs: number) {
    super(why);
    this.leastMs = leastMs;
  }
}
