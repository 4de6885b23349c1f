import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { OPERATOR } from '@runledger/broker-access/broker-user';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { brokerUsers } from '@runledger/standalone/keys/broker-users';

/** Who may do what at the broker of a cluster: every service no more than its contract says. */
export interface BrokerAccess {
  /** For nats-server. */
  readonly authorization: string;
  /** The seed of a user. @throws when the broker does not know it */
  readonly seedOf: (user: string) => string;
  readonly operator: string;
}

export const newBrokerAccess = (executors: readonly string[]): BrokerAccess => {
  const known = brokerUsers(executors).map((user) => ({ user, ...newUserKey() }));
  const seeds = new Map(known.map(({ user, seed }) => [user.name, seed]));
  const seedOf = (name: string): string => {
    const seed = seeds.get(name);
    if (seed === undefined) throw new Error(`The broker of the cluster knows no user ${name}.`);
    return seed;
  };
  return { authorization: brokerConfiguration(known), seedOf, operator: seedOf(OPERATOR) };
};
