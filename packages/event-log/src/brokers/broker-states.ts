import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import type { BrokerState } from './core/plan-removal.ts';
import { BROKER_STATES } from './system-subjects.ts';

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
const response = compiledSchema(
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
export const brokerStates = async ({ nc }: EventLog): Promise<readonly BrokerState[]> => {
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
  if (!response.Check(said)) throw new TypeError('the state of a broker has another shape');
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
