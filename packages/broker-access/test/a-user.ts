import { operatorUser, type BrokerUser } from '../src/broker-user.ts';
import { brokerConfiguration, type UserWithKey } from '../src/broker-configuration.ts';
import { newUserKey, type UserKey } from '@runledger/event-log/connect/user-key';

/** A user that may publish what is named, and nothing else. */
export const aUser = (
  name: string,
  publish: readonly string[],
  subscribe: readonly string[] = [],
): BrokerUser => ({
  name,
  permissions: { publish: { allow: publish }, subscribe: { allow: subscribe }, responses: false },
});

/** A configuration for an operator and other users, and everybody's keys by name. */
export const configured = (
  ...users: readonly BrokerUser[]
): { readonly authorization: string; readonly keys: ReadonlyMap<string, UserKey> } => {
  const all = [operatorUser(), ...users];
  const keys = new Map(all.map(({ name }) => [name, newUserKey()]));
  const known = all.map((user): UserWithKey => ({ user, publicKey: keys.get(user.name)?.publicKey ?? '' }));
  return { authorization: brokerConfiguration(known), keys };
};
