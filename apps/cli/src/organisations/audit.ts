import { AuditAction } from '@runledger/contracts/audit-actions';
import type { AuditActor } from '@runledger/contracts/audit-record';
import { AuditPage, type AuditEntry } from '@runledger/contracts/http/audit';
import { Option, type Command } from 'commander';
import type { Client, CommandContext } from '../command/command-context.ts';
import { ANSWER_WITHIN_MS, type ApiCall } from '../api/api-call.ts';
import { linesOf } from '../api/streams.ts';
import { optionalId } from '../catalogue/named-records.ts';
import { keyIdOf } from './api-keys.ts';
import { DEFAULT_LIMIT, listPages, type ListOptions } from '../command/list-pages.ts';
import { inColumns, type Column } from '../command/table.ts';

interface Filter {
  readonly action?: string;
  readonly organisation?: string;
  readonly key?: string;
  readonly user?: string;
  readonly target?: string;
  readonly since?: string;
  readonly until?: string;
}

/** Who did what. The organisation of the key, or with the scope operator all. */
export const addAuditCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program
    .command('audit')
    .description('who did what (needs a key with the scope admin, or operator)');
  addFilter(add(group, 'list', 'list audit records, newest first; with --json both records of each action'))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(withClient(listAudit));
  addFilter(group.command('export').description('print all audit records that match as JSON lines')).action(
    withClient(exportAudit),
  );
};

const addFilter = (command: Command): Command =>
  command
    .addOption(new Option('--action <action>', 'what was done').choices(AuditAction.enum))
    .option('--organisation <id>', 'of this organisation; needs the scope operator, unless it is your own')
    .option('--key <key>', 'done with this API key')
    .option('--user <id>', 'done with a key of this user')
    .option('--target <id>', 'done to this, such as a key or a deployment')
    .option('--since <time>', 'at this time or later, such as 2026-05-01 or 2026-05-01T12:00:00Z')
    .option('--until <time>', 'before this time');

const queryOf = async (call: ApiCall, { action, organisation, key, user, target, since, until }: Filter) => ({
  action,
  organisation,
  key_id: await optionalId(call, { idOf: keyIdOf }, key),
  user_id: user,
  target,
  since,
  until,
});

const columns: readonly Column<AuditEntry>[] = [
  { title: 'TIME', width: 24, is: 'time', of: ({ time }) => time },
  { title: 'ACTION', width: 24, of: ({ action }) => action },
  { title: 'OUTCOME', width: 9, is: 'status', of: ({ outcome }) => outcome ?? 'begun' },
  { title: 'TARGET', width: 36, of: ({ target }) => target.id },
  { title: 'BY', width: 40, of: ({ actor }) => whoIs(actor) },
  {
    title: 'DETAILS',
    width: 0,
    of: ({ details }) => (details === undefined ? null : JSON.stringify(details)),
  },
];

const whoIs = (actor: AuditActor): string => {
  switch (actor.kind) {
    case 'key':
      return `key ${actor.key_id}`;
    case 'session':
      return `session ${actor.session_id}`;
    case 'operator':
      return 'operator of the broker';
    case 'unknown':
      return `somebody at ${actor.network}`;
  }
};

const listAudit = async ({ call, screen }: Client, options: ListOptions & Filter): Promise<void> => {
  const filter = await queryOf(call, options);
  /** Their first records come later, in the order of the list. */
  const completed = new Set<string>();
  const isNews = ({ id, stage }: AuditEntry): boolean =>
    stage === 'completed' ? completed.add(id) === completed : !completed.delete(id);
  let older: AuditPage['left'] = null;
  await listPages(screen, options, {
    readPage: async (span) => {
      const query = { ...filter, ...span };
      const { records, left, next_cursor } = await call(AuditPage, {
        method: 'GET',
        path: '/audit',
        query,
        answerWithinMs: ANSWER_WITHIN_MS,
      });
      older = left;
      return { items: screen.isJson() ? records : records.filter(isNews), next_cursor };
    },
    ...inColumns(screen, columns),
    none: 'No audit record matches.',
    further: 'Print all with: runledger audit export',
  });
  // Assigned in a function, which the compiler does not see.
  for (const { ring, before } of (older as AuditPage['left']) ?? [])
    screen.hint(`Older records may have left: those of the kind ${ring} are complete since ${before}.`);
};

const exportAudit = async ({ connection, call, screen }: Client, filter: Filter): Promise<void> => {
  const request = { method: 'GET', path: '/audit/export', query: await queryOf(call, filter) } as const;
  for await (const line of linesOf(connection, request)) screen.print(line);
};
