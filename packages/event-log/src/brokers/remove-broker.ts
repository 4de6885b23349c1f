import { sleep } from '@runledger/resilience/abort';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { brokerStates } from './broker-states.ts';
import { incompleteStreams, membersOf, whyNotRemovable } from './core/plan-removal.ts';
import { REMOVE_BROKER } from './system-subjects.ts';

/** It would be wrong to remove this broker now. Nothing was changed. */
export class RemovalRefused extends Error {
  override readonly name = 'RemovalRefused';
  readonly code = 'removal_refused';
}

const response = compiledSchema(
  Type.Object({
    error: Type.Optional(Type.Object({ err_code: Type.Integer(), description: Type.String() })),
  }),
);
/** An earlier try had its effect. */
const NOT_MEMBER = 10044;
/** The brokers agree first. */
const AGREED_WITHIN_MS = 15_000;
const POLL_MS = 1_000;

export interface RemovalOptions {
  readonly signal: AbortSignal;
  /** The streams whose copies are made anew at other brokers. */
  readonly onCopying: (streams: readonly string[]) => void;
}

/**
 * Takes a broker that never comes back out of the cluster, and resolves when the others have as many copies of each stream as are
 * wanted. Returns their names. The log is connected as the system user.
 * @throws {RemovalRefused} @throws {LogUnavailable} @throws the signal's reason: the broker is removed, and copies are still missing
 */
export const removeBroker = async (
  log: EventLog,
  name: string,
  { signal, onCopying }: RemovalOptions,
): Promise<readonly string[]> => {
  const why = whyNotRemovable(name, await brokerStates(log));
  if (why !== undefined) throw new RemovalRefused(why);
  await callBroker(`removing the broker ${name}`, () => remove(log, name));
  for (;;) {
    const brokers = await brokerStates(log);
    const members = membersOf(brokers);
    const copying = incompleteStreams(brokers);
    if (members && !members.includes(name) && copying.length === 0) return members.toSorted();
    onCopying(copying);
    await sleep(POLL_MS, signal);
    signal.throwIfAborted();
  }
};

const remove = async ({ nc }: EventLog, name: string): Promise<void> => {
  const request = JSON.stringify({ peer: name });
  const answer: unknown = (await nc.request(REMOVE_BROKER, request, { timeout: AGREED_WITHIN_MS })).json();
  if (!response.Check(answer)) throw new TypeError('the response to a removal has another shape');
  if (answer.error && answer.error.err_code !== NOT_MEMBER)
    throw new LogUnavailable(`The brokers did not remove ${name}: ${answer.error.description}. Try again.`);
};
