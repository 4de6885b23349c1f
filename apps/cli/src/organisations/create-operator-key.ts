import { OrganisationScope, type KeyScope, type Organisation } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createApiKey } from '@runledger/gateway/auth/api-keys';
import { catalogue, type Catalogue } from '@runledger/gateway/catalogue';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { oldestFirst } from './list-organisations.ts';

export interface OperatorKeyWish {
  readonly name: string;
  /** Its id; the only one that there is when left out. */
  readonly organisation: string | undefined;
  /** Beside `operator`. */
  readonly scopes: readonly string[];
  /** ISO 8601; never when left out. */
  readonly expires_at: string | undefined;
}

export interface OperatorKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly org_id: string;
  readonly user_id: string;
  readonly scopes: readonly KeyScope[];
  readonly expires_at: string | null;
}

const LONGEST_NAME = 128;
const CHOICES = OrganisationScope.enum.join(', ');

/**
 * Makes a key that is also good for the fleet. It belongs to an organisation as every key does, reads its runs unless
 * more was asked for, and so is listed and revoked there. @throws Explained
 */
export const createOperatorKey = async (log: EventLog, wish: OperatorKeyWish): Promise<OperatorKey> => {
  if (wish.name.trim() === '' || wish.name.length > LONGEST_NAME)
    throw new CommandError(`A key's name has 1 to ${LONGEST_NAME} characters. Give another one.`);
  const scopes = scopesOf(wish.scopes);
  const records = catalogue(log);
  const { id: org_id, name: organisation } = await organisationOf(records, wish.organisation);
  const [user] = (await records.listUsers(org_id)).toSorted(oldestFirst);
  if (user === undefined)
    throw new CommandError(
      `The organisation ${plain(organisation)} (${org_id}) has no user. Name another one.`,
    );
  const { name, expires_at = null } = wish;
  const { record, key } = await createApiKey(log, { org_id, user_id: user.id, name, scopes, expires_at });
  return { id: record.id, key, name, org_id, user_id: user.id, scopes, expires_at };
};

const scopesOf = (asked: readonly string[]): KeyScope[] => {
  const others = new Set(asked.filter((scope) => scope !== 'operator'));
  // Without it, it could not even revoke itself.
  const wanted = others.size === 0 ? new Set(['runs:read']) : others;
  const known = OrganisationScope.enum.filter((scope) => wanted.has(scope));
  if (known.length !== wanted.size)
    throw new CommandError(
      `--scope takes ${CHOICES} beside --operator, not ${plain([...wanted].join(','))}.`,
    );
  return [...known, 'operator'];
};

const organisationOf = async (records: Catalogue, id: string | undefined): Promise<Organisation> => {
  const organisations = await records.listOrganisations();
  const [first, ...others] = organisations.filter((one) => id === undefined || one.id === id.toLowerCase());
  if (first !== undefined && others.length === 0) return first;
  if (first === undefined && id !== undefined)
    throw new CommandError(
      `There is no organisation ${plain(id)}. See all with: runledger organisations list`,
    );
  throw new CommandError(
    first === undefined
      ? 'There is no organisation yet. Make one with: runledger organisations create NAME --operator'
      : `There are ${others.length + 1} organisations. Name one with --organisation ID; see all with: runledger organisations list`,
  );
};
