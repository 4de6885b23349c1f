import { setTimeout as pause } from 'node:timers/promises';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import type { Clock } from '../cluster/clock.ts';
import type { BrokerUsers } from '../cluster/broker-access.ts';
import { forbiddenTo, type Forbidden } from './forbidden.ts';

/** A user tried what it may not do. */
export interface Trespass extends Forbidden {
  readonly user: string;
  readonly at: number;
  /** The broker said no. */
  readonly refused: boolean;
}

/** The broker's log names its connections so. */
export const TRESPASSER = 'trespasser';
/** No user may publish here. The broker handles messages in order: its refusal follows all others. */
const LAST = 'the.last.one';
/** No JSON, so that whatever accepts it changes nothing. */
const PAYLOAD = '!';
const WITHIN_MS = 10_000;
const POLL_EVERY_MS = 50;

/** Every user but the operator tries what it may not do. What the broker did not answer, because it was away, is left out. */
export const trespass = async (
  { names, url, seedOf }: BrokerUsers,
  executorNames: readonly string[],
  now: Clock,
): Promise<Trespass[]> => {
  const all: Trespass[] = [];
  for (const user of names) {
    const signal = AbortSignal.timeout(WITHIN_MS);
    try {
      const settings = { url, name: TRESPASSER, seed: seedOf(user) };
      await using log = await openEventLog(settings, silentLogger, signal);
      const forbidden = forbiddenTo(user, executorNames);
      const at = now();
      const refused = await refusedTo(log, forbidden, signal);
      if (refused)
        all.push(...forbidden.map((one) => ({ ...one, user, at, refused: refused.has(one.subject) })));
    } catch {
      // The broker is away.
    }
  }
  return all;
};

/** The subjects that the broker refused; undefined if it was away meanwhile. */
const refusedTo = async (
  { nc }: EventLog,
  forbidden: readonly Forbidden[],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> => {
  const refused = new Set<string>();
  const broker = { wasAway: false };
  const listen = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') broker.wasAway = true;
      const error = status.type === 'error' ? status.error : undefined;
      if (error?.name === 'PermissionViolationError' && 'subject' in error)
        refused.add(String(error.subject));
    }
  };
  void listen();
  for (const { action, subject } of forbidden) {
    if (action === 'publish') nc.publish(subject, PAYLOAD);
    else nc.subscribe(subject, { callback: () => undefined });
  }
  nc.publish(LAST);
  while (!refused.has(LAST) && !broker.wasAway && !signal.aborted) await pause(POLL_EVERY_MS);
  return refused.has(LAST) && !broker.wasAway ? refused : undefined;
};
