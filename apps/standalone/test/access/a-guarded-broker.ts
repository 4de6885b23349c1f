import type { ServiceContract } from '@runledger/contracts/service-contract';
import { testNats } from '@runledger/testing/servers/nats';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as executor } from '@runledger/gpu-executor/contract';
import { contract as notifier } from '@runledger/notifier/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import {
  debuggerUser,
  executorUser,
  operatorUser,
  serviceUser,
  systemUser,
  type BrokerUser,
} from '@runledger/broker-access/broker-user';
import { newUserKey, type UserKey } from '@runledger/event-log/connect/user-key';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger, type Logger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';

export const CONTRACTS: readonly ServiceContract[] = [gateway, scheduler, notifier, executor];

export const USERS = {
  gateway: serviceUser(gateway),
  scheduler: serviceUser(scheduler),
  notifier: serviceUser(notifier),
  'executor-a': executorUser(executor, 'a'),
  'executor-b': executorUser(executor, 'b'),
  debugger: debuggerUser(),
  operator: operatorUser(),
  system: systemUser(),
} satisfies Record<string, BrokerUser>;
export type UserName = keyof typeof USERS;
const USER_NAMES = Object.keys(USERS) as UserName[];

/** A provisioned broker with the permissions from the contracts of all services. */
export interface GuardedBroker extends AsyncDisposable {
  readonly nats: Awaited<ReturnType<typeof testNats>>;
  readonly keys: Readonly<Record<UserName, UserKey>>;
  readonly operator: EventLog;
  /** The permission violations of all users, in words. */
  readonly refusals: readonly string[];
  /** One more connection of a user. It is closed with the others. */
  open(user: UserName): Promise<EventLog>;
}

export const aGuardedBroker = async (): Promise<GuardedBroker> => {
  await using opened = new AsyncDisposableStack();
  const keys = Object.fromEntries(USER_NAMES.map((name) => [name, newUserKey()])) as Record<
    UserName,
    UserKey
  >;
  const authorization = brokerConfiguration(
    USER_NAMES.map((name) => ({ user: USERS[name], publicKey: keys[name].publicKey })),
  );
  const nats = opened.use(await testNats({ authorization }));
  const refusals: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (fields) => {
      if ('err' in fields && fields.err instanceof Error) refusals.push(fields.err.message);
    },
  };
  const connect = (name: UserName): Promise<EventLog> =>
    openEventLog({ url: nats.url, name, seed: keys[name].seed }, logger);
  const operator = opened.use(await connect('operator'));
  await provision(operator);
  const kept = opened.move();
  return {
    nats,
    keys,
    operator,
    refusals,
    open: async (name) => kept.use(await connect(name)),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
