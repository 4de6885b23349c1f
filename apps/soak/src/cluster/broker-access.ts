import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { OPERATOR } from '@runledger/broker-access/broker-user';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { brokerUsers } from '@runledger/standalone/keys';

/** The users of the broker whose permissions are limited. */
export interface BrokerUsers {
  readonly names: readonly string[];
  /** Of the broker; several with commas between them. */
  readonly url: string;
  readonly seedOf: (user: string) => string;
}

/** Users and permissions at the broker of a cluster. A service may do only what its contract allows. */
export interface BrokerAccess {
  /** All but the operator. */
  readonly names: readonly string[];
  /** For nats-server. */
  readonly authorization: string;
  /** The seed of a user. @throws Error for an unknown user */
  readonly seedOf: (user: string) => string;
  readonly operator: string;
}

export const newBrokerAccess = (executors: readonly string[]): BrokerAccess => {
  const known = brokerUsers(executors).map((user) => ({ user, ...newUserKey() }));
  const seeds = new Map(known.map(({ user, seed }) => [user.name, seed]));
  const seedOf = (name: string): string => {
    const seed = seeds.get(name);
    if (seed === undefined) throw new Error(`The broker of the cluster has no user ${name}.`);
    return seed;
  };
  const names = [...seeds.keys()].filter((name) => name !== OPERATOR);
  return { names, authorization: brokerConfiguration(known), seedOf, operator: seedOf(OPERATOR) };
};
