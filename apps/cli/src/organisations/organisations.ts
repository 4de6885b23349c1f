import { createOrganisation, OPERATOR_SCOPES, OWNER_SCOPES } from '@runledger/standalone/create-organisation';
import { type Organisation, OrganisationScope, type KeyScope } from '@runledger/contracts/catalogue/records';
import { catalogue, type Catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { createApiKey } from '@runledger/gateway/records/keys/api-keys';
import { CommandError, plain } from '../command/command-error.ts';
import type { Operator } from '../command/command-context.ts';
import { rowLines, printTable, type Column } from '../command/table.ts';

const MAX_NAME_LENGTH = 128;

/** Creates an organisation with a user, a key and the sample, and prints the connection of its first client. */
export const createNamedOrganisation = async (
  { log, screen, record }: Operator,
  name: string,
  operator: boolean,
): Promise<void> => {
  if (name.trim() === '' || name.length > MAX_NAME_LENGTH)
    throw new CommandError(
      `An organisation's name has 1 to ${MAX_NAME_LENGTH} characters. Choose another one.`,
    );
  const scopes = operator ? OPERATOR_SCOPES : OWNER_SCOPES;
  const created = await record(
    {
      action: 'organisation.created',
      org_id: null,
      target: { kind: 'organisation', id: null },
      details: { scopes: [...scopes] },
    },
    () => createOrganisation(log, name, () => new Date(), scopes),
    ({ org_id }) => ({ target: { kind: 'organisation', id: org_id } }),
  );
  screen.result(created, () => rowLines(screen, Object.entries(created)));
  if (!screen.isJson()) screen.hint('The key is shown only once. Save it now: only its hash is stored.');
};

const columns: readonly Column<Organisation>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
  { title: 'NAME', width: 0, of: ({ name }) => name },
];

/** Prints all organisations, oldest first. */
export const listOrganisations = async ({ log, screen }: Operator): Promise<void> => {
  const organisations = (await catalogue(log).listOrganisations()).toSorted(oldestFirst);
  printTable(screen, columns, organisations);
  if (!screen.isJson() && organisations.length === 0)
    screen.hint('There is no organisation yet. Make one with: runledger organisations create NAME');
};

const oldestFirst = (one: { readonly created_at: string }, other: { readonly created_at: string }): number =>
  Date.parse(one.created_at) - Date.parse(other.created_at);

export interface NewOperatorKey {
  readonly name: string;
  /** Its id or its name; undefined for the only one. */
  readonly organisation: string | undefined;
  /** Besides `operator`. */
  readonly scopes: readonly string[];
  /** ISO 8601; undefined for never. */
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

const CHOICES = OrganisationScope.enum.join(', ');

/**
 * Makes a key with the scope operator. It belongs to an organisation, which lists and revokes it, and may read its runs by
 * default. @throws CommandError
 */
export const createOperatorKey = async (
  { log, record: recorded }: Operator,
  request: NewOperatorKey,
): Promise<OperatorKey> => {
  if (request.name.trim() === '' || request.name.length > MAX_NAME_LENGTH)
    throw new CommandError(`A key's name has 1 to ${MAX_NAME_LENGTH} characters. Choose another one.`);
  const scopes = scopesOf(request.scopes);
  const records = catalogue(log);
  const { id: org_id, name: organisation } = await organisationOf(records, request.organisation);
  const [user] = (await records.listUsers(org_id)).toSorted(oldestFirst);
  if (user === undefined)
    throw new CommandError(
      `The organisation ${plain(organisation)} (${org_id}) has no user. Choose another one.`,
    );
  const { name, expires_at = null } = request;
  const { record, key } = await recorded(
    {
      action: 'key.created',
      org_id,
      target: { kind: 'key', id: null },
      details: { scopes, user_id: user.id, expires_at },
    },
    () => createApiKey(log, { org_id, user_id: user.id, name, scopes, expires_at }),
    (created) => ({ target: { kind: 'key', id: created.record.id } }),
  );
  return { id: record.id, key, name, org_id, user_id: user.id, scopes, expires_at };
};

const scopesOf = (requested: readonly string[]): KeyScope[] => {
  const others = new Set(requested.filter((scope) => scope !== 'operator'));
  // Without runs:read, the key could not even revoke itself.
  const wanted = others.size === 0 ? new Set(['runs:read']) : others;
  const known = OrganisationScope.enum.filter((scope) => wanted.has(scope));
  if (known.length !== wanted.size)
    throw new CommandError(`--scope takes ${CHOICES} with --operator, not ${plain([...wanted].join(','))}.`);
  return [...known, 'operator'];
};

const organisationOf = async (records: Catalogue, given: string | undefined): Promise<Organisation> => {
  const organisations = await records.listOrganisations();
  const [first, ...others] = organisations.filter(
    ({ id, name }) => given === undefined || id === given.toLowerCase() || name === given,
  );
  if (first !== undefined && others.length === 0) return first;
  if (first === undefined && given !== undefined)
    throw new CommandError(
      `There is no organisation ${plain(given)}. List them with: runledger organisations list`,
    );
  throw new CommandError(
    first === undefined
      ? 'There is no organisation yet. Make one with: runledger organisations create NAME --operator'
      : `There are ${others.length + 1} organisations${given === undefined ? '' : ` with the name ${plain(given)}`}. Choose one with --organisation ID. List them with: runledger organisations list`,
  );
};
