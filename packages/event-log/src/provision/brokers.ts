import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { sleep } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import { BROKER_HEALTH, BROKER_STATES, REMOVE_BROKER } from '../connect/broker-config.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { incompleteStreams, membersOf, whyNotRemovable, type BrokerState } from './plan-removal.decide.ts';

/** It would be wrong to remove this broker now. Nothing was changed. */
export class RemovalRefused extends Error {
  override readonly name = 'RemovalRefused';
  readonly code = 'removal_refused';
}

const RemovalResponse = compiledSchema(
  Type.Object({
    error: Type.Optional(Type.Object({ err_code: Type.Integer(), description: Type.String() })),
  }),
);
/** An earlier try had its effect. */
const NOT_MEMBER = 10044;
/** The brokers agree first. */
const AGREED_WITHIN_MS = 15_000;
const POLL_MS = 1_000;

interface RemovalOptions {
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
  if (!RemovalResponse.Check(answer)) throw new TypeError('the response to a removal has another shape');
  if (answer.error && answer.error.err_code !== NOT_MEMBER)
    throw new LogUnavailable(`The brokers did not remove ${name}: ${answer.error.description}. Try again.`);
};

const peer = Type.Object({
  name: Type.String(),
  current: Type.Boolean(),
  offline: Type.Optional(Type.Boolean()),
});
const cluster = Type.Object({
  leader: Type.Optional(Type.String()),
  replicas: Type.Optional(Type.Array(peer)),
});
const stream = Type.Object({
  name: Type.String(),
  cluster: Type.Optional(cluster),
  config: Type.Object({ num_replicas: Type.Integer() }),
});
const account = Type.Object({ stream_detail: Type.Optional(Type.Array(stream)) });
/** A part of what nats-server says at `/jsz`. */
const StatesResponse = compiledSchema(
  Type.Object({
    server: Type.Object({ name: Type.String() }),
    data: Type.Object({
      meta_cluster: Type.Optional(cluster),
      account_details: Type.Optional(Type.Array(account)),
    }),
  }),
);

const REQUEST = JSON.stringify({ accounts: true, streams: true, config: true });
/** Of the slowest broker. */
const WITHIN_MS = 5_000;
/** When nobody has responded for so long, all have that run. */
const SILENCE_MS = 1_000;

/** What every broker that runs says of itself. @throws {LogUnavailable} when none does */
const brokerStates = async ({ nc }: EventLog): Promise<readonly BrokerState[]> => {
  const strategy = { strategy: 'stall', maxWait: WITHIN_MS, stall: SILENCE_MS } as const;
  const states: BrokerState[] = [];
  try {
    for await (const message of await nc.requestMany(BROKER_STATES, REQUEST, strategy))
      states.push(stateIn(message.json()));
  } catch (error) {
    throw new LogUnavailable(UNANSWERED, { cause: error });
  }
  if (states.length === 0) throw new LogUnavailable(UNANSWERED);
  return states;
};

const UNANSWERED =
  'No broker says what it holds. They tell it only to their system user: use its key, which "runledger broker-config" writes to ' +
  'keys/system.nk, and which they know after they have loaded the configuration.';

const stateIn = (said: unknown): BrokerState => {
  if (!StatesResponse.Check(said)) throw new TypeError('the state of a broker has another shape');
  const {
    server: { name },
    data: { meta_cluster: all, account_details: accounts = [] },
  } = said;
  const details = accounts.flatMap(({ stream_detail: streams = [] }) => streams);
  return {
    name,
    members: all?.leader === name ? [name, ...namesOf(all.replicas)] : undefined,
    led: details
      .filter(({ cluster: held }) => held?.leader === name)
      .map(({ name: held, config, cluster: { replicas = [] } = {} }) => ({
        name: held,
        wanted: config.num_replicas,
        current: [name, ...namesOf(replicas.filter((one) => one.current && one.offline !== true))],
        holders: [name, ...namesOf(replicas)],
      })),
    streams: details.map(({ name: held }) => held),
  };
};

const namesOf = (peers: readonly { readonly name: string }[] = []): readonly string[] =>
  peers.map(({ name }) => name);

const HealthResponse = compiledSchema(
  Type.Object({ data: Type.Object({ status: Type.String(), error: Type.Optional(Type.String()) }) }),
);

/**
 * What the connected broker, which is the only one, says is wrong with it; undefined when it is well. The log is connected as the system
 * user. @throws what the request fails with
 */
export const brokerFailure = async ({ nc }: EventLog): Promise<string | undefined> => {
  const said: unknown = (await nc.request(BROKER_HEALTH, '', { timeout: WITHIN_MS })).json();
  if (!HealthResponse.Check(said)) throw new TypeError('the health of a broker has another shape');
  return said.data.error;
};
