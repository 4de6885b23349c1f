import { isUuid } from '@runledger/contracts/ids';
import { ApiKeyList, CreatedApiKeyItem, type ApiKeyItem } from '@runledger/contracts/http/api-keys';
import type { Command } from 'commander';
import type { Static } from 'typebox';
import { Nothing, at, type ApiCall } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { ambiguous } from '../catalogue/named-records.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { secondsOf } from '../command/option-values.ts';
import { rowLines, printTable, type Column } from '../command/table.ts';

const columns: readonly Column<ApiKeyItem>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'KEY', width: 12, of: ({ prefix }) => `${prefix}…` },
  { title: 'SCOPES', width: 26, of: ({ scopes }) => scopes.join(',') },
  { title: 'LAST USED', width: 24, is: 'time', of: ({ last_used_at }) => last_used_at ?? 'never' },
  { title: 'FROM', width: 15, of: ({ last_used_address }) => last_used_address },
  { title: 'EXPIRES', width: 24, is: 'time', of: ({ expires_at }) => expires_at ?? 'never' },
  { title: 'MADE BY', width: 36, of: ({ parent_key_id }) => parent_key_id },
  { title: 'NAME', width: 0, of: ({ name }) => name },
];

interface CreateOptions {
  readonly name: string;
  readonly scope: readonly string[];
  readonly expiresIn?: string;
  readonly operator?: boolean;
  readonly organisation?: string;
  readonly user?: string;
}

/** The API keys that the key of the connection may see. */
export const addKeyCommands = (program: Command, parts: CommandContext): void => {
  const { withClient, add } = parts;
  const group = program.command('keys').description('API keys');
  add(group, 'list', 'list your own keys, or all of the organisation with the scope admin').action(
    withClient(async ({ call, screen }) => {
      const { api_keys } = await call(ApiKeyList, { method: 'GET', path: '/api-keys' });
      printTable(screen, columns, api_keys);
    }),
  );
  add(group, 'create', 'make a key with at most your own scopes; it is shown only once')
    .requiredOption('--name <name>', 'for people, such as where it is used')
    .option('--scope <scope>', 'runs:read, runs:write or admin; can be repeated', repeated, [])
    .option('--expires-in <time>', 'such as 12h or 30d; never by default')
    .option('--user <id>', 'of another user of the organisation; needs the scope admin')
    .option(
      '--operator',
      'a key that may also see and drain the executors; needs the credentials of the broker',
    )
    .option(
      '--organisation <organisation>',
      'with --operator: the organisation of the key; optional if there is only one',
    )
    .action(async (options: CreateOptions) => createKey(parts, options));
  add(group, 'revoke <key>', 'revoke a key by its id, or by a name that no other key has')
    .option('--keep-descendants', 'keep the keys that were made with it; they are revoked as well otherwise')
    .action(withClient(revokeKey));
};

const repeated = (text: string, before: readonly string[]): string[] => [...before, ...text.split(',')];

const createKey = async (
  { client, asOperator, screen }: CommandContext,
  options: CreateOptions,
): Promise<void> => {
  const { name, scope, operator = false, organisation, user } = options;
  const seconds = secondsOf('--expires-in', options.expiresIn);
  const expires_at = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1_000).toISOString();
  if (organisation !== undefined && !operator)
    throw new CommandError(
      'Use --organisation only with --operator. Any other key belongs to your own organisation.',
    );
  if (user !== undefined && operator)
    throw new CommandError('Use --user without --operator: a key of an operator belongs to the first user.');
  const created = operator
    ? await asOperator(async (by) => {
        const { createOperatorKey } = await import('./organisations.ts');
        return createOperatorKey(by, { name, organisation, scopes: scope, expires_at });
      })
    : await requestKey(await client(), {
        name,
        scopes: scope.length === 0 ? undefined : scope,
        user_id: user,
        expires_at,
      });
  screen.result(created, () =>
    screen.isTerminal
      ? rowLines(screen, [
          ['key', created.key],
          ['id', created.id],
          ['name', created.name],
          ['scopes', created.scopes.join(',')],
          ['expires', created.expires_at ?? 'never', 'time'],
        ])
      : created.key,
  );
  screen.hint(`The key is not shown again. Save it now: only its hash is stored. Its id is ${created.id}.`);
};

/** The id of a key: what is given is its id, or a name that no other key has. @throws CommandError */
export const keyIdOf = async (call: ApiCall, given: string): Promise<string> => {
  if (isUuid(given)) return given;
  const { api_keys } = await call(ApiKeyList, { method: 'GET', path: '/api-keys' });
  const named = api_keys.filter(({ name }) => name === given);
  if (named.length > 1) throw ambiguous('key', given, { items: named, list: 'runledger keys list' });
  if (named[0] !== undefined) return named[0].id;
  throw new CommandError(
    `No key has the name or the id ${plain(given)}. List them with: runledger keys list`,
  );
};

const requestKey = ({ call }: Client, body: object): Promise<Static<typeof CreatedApiKeyItem>> =>
  call(CreatedApiKeyItem, { method: 'POST', path: '/api-keys', body });

const revokeKey = async (
  { call, screen }: Client,
  given: string,
  { keepDescendants = false }: { readonly keepDescendants?: boolean },
): Promise<void> => {
  const id = await keyIdOf(call, given);
  const query = keepDescendants ? { keep_descendants: true } : {};
  await call(Nothing, { method: 'DELETE', path: at`/api-keys/${id}`, query });
  const refused = keepDescendants ? 'it' : 'it, and all keys that were made with it,';
  screen.result(
    { id, revoked: true },
    () => `The key ${plain(given)} is revoked. Every gateway refuses ${refused} within a second.`,
  );
};
