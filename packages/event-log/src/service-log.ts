import { brokerSettings, type BrokerConfig } from './broker-config.ts';
import { openEventLog, type EventLog } from './event-log.ts';
import type { LogObserver } from './log-observer.ts';
import type { Logger } from './logger.ts';
import { awaitProvisioned } from './provision.ts';
import type { State } from './pull-in-order.ts';

/** What a service has from its first moment on. */
export interface Beginning {
  readonly config: BrokerConfig;
  /** Shown by the broker beside the connection. */
  readonly instance: string;
  readonly logger: Logger;
  readonly observer?: LogObserver;
  /** What `/readyz` asks. */
  readonly checks: Record<string, () => State | Promise<State>>;
  /** The streams that have to be there first; all of them when left out. A service that may not look at streams names none, and learns at its first request whether they are there. */
  readonly streams?: readonly string[];
}

/**
 * What every service opens first: the log, connected and provisioned, and the checks that say what is missing.
 * @throws the reason of `stopping`, and ForbiddenConfiguration
 */
export const openServiceLog = async (
  { config, instance, logger, observer, checks, streams }: Beginning,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<EventLog> => {
  const away: State = { ok: false, why: 'the broker is away' };
  checks['broker'] = () => away;
  const log = open.use(await openEventLog(brokerSettings(config, instance), logger, stopping, observer));
  checks['broker'] = () => (log.connected() ? { ok: true } : away);
  if (streams?.length === 0) return log;
  checks['provisioned'] = () => ({
    ok: false,
    why: 'the streams and buckets of the log are not there yet, or as an earlier release made them; runledger provision makes them',
  });
  await awaitProvisioned(log, stopping, streams);
  checks['provisioned'] = () => ({ ok: true });
  return log;
};
