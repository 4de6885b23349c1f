import { MemberList } from '@runledger/contracts/http/accounts';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { ListedVersion } from '@runledger/contracts/http/catalogue/workflows';
import type { Command } from 'commander';
import { type ApiCall, pages } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { Column } from '../command/table.ts';
import { unlessRefused } from './deployment-names.ts';
import { deployments } from './deployments.ts';
import { addRecordList } from './named-records.ts';
import { listRecords, patchRecord, readRecord, type RecordListOptions } from './records.ts';
import { versionsOf } from './workflows.ts';

/** The versions that a deployment has had, or can have. */
export const addDeployedVersionCommands = (program: Command, parts: CommandContext): void => {
  const { withClient, add } = parts;
  addRecordList(parts, program, {
    name: 'versions <deployment>',
    description: 'list the versions of a deployment, newest first; * marks the one that runs get',
  }).action(withClient(listVersions));
  add(
    program,
    'rollback <deployment> [version]',
    'let new runs have another version: the one with this number, or the one before the present one',
  ).action(withClient(rollBack));
};

const listVersions = async (client: Client, given: string, options: RecordListOptions): Promise<void> => {
  const { call, screen } = client;
  const deployment = await readRecord(call, deployments, given);
  const names = screen.isJson() ? new Map<string, string>() : await memberNames(call);
  const { readPage, ...versions } = versionsOf(deployment.workflow_id);
  await listRecords(
    client,
    {
      ...versions,
      readPage: async (call, request) => {
        const { items, next_cursor } = await readPage(call, request);
        const isUsed = ({ id }: ListedVersion): boolean => id === deployment.workflow_version_id;
        return { items: items.map((version) => ({ ...version, used: isUsed(version) })), next_cursor };
      },
      columns: columnsWith(names),
    },
    options,
  );
};

interface DeployedVersion extends ListedVersion {
  /** Whether new runs of the deployment get it. */
  readonly used: boolean;
}

const columnsWith = (names: ReadonlyMap<string, string>): readonly Column<DeployedVersion>[] => [
  { title: 'VERSION', width: 7, of: ({ number, used }) => `${number}${used ? ' *' : ''}` },
  { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
  { title: 'CODE', width: 12, of: ({ code }) => code?.sha256.slice(0, 12) ?? null },
  { title: 'COMMIT', width: 16, of: ({ commit }) => (commit === null ? null : shortCommit(commit)) },
  {
    title: 'BY',
    width: 20,
    of: ({ created_by }) => (created_by === null ? null : (names.get(created_by) ?? created_by)),
  },
  { title: 'MESSAGE', width: 0, of: ({ message }) => message },
];

/** As git shortens it. */
const shortCommit = (commit: string): string => commit.replace(/^([0-9a-f]{7})[0-9a-f]*/, '$1');

/** Of those whom the key may see. */
const memberNames = async (call: ApiCall): Promise<ReadonlyMap<string, string>> => {
  const list = await unlessRefused(() => call(MemberList, { method: 'GET', path: '/members' }));
  return new Map(list?.members.map(({ user_id, name }) => [user_id, name]));
};

const rollBack = async (client: Client, given: string, version: string | undefined): Promise<void> => {
  const { call, screen } = client;
  const deployment = await readRecord(call, deployments, given);
  const versions = versionsOf(deployment.workflow_id);
  const from = await readRecord(call, versions, deployment.workflow_version_id);
  const to =
    version === undefined
      ? await versionBefore(call, deployment, from.number)
      : await readRecord(call, versions, version);
  if (to.id !== from.id) await patchRecord(call, deployments, deployment.id, { workflow_version_id: to.id });
  const name = plain(deployment.name);
  screen.result({ deployment_id: deployment.id, from: from.number, to: to.number }, () =>
    to.id === from.id
      ? `${name} has version ${to.number} already.`
      : `${name} has version ${to.number} now${to.message === null ? '' : ` (${plain(to.message)})`}, and no longer version ${from.number}. Runs that are queued keep theirs.`,
  );
};

const PAGE = 100;

/** The newest one below a number that is not archived. @throws CommandError */
const versionBefore = async (
  call: ApiCall,
  { name, workflow_id }: Deployment,
  number: number,
): Promise<ListedVersion> => {
  const { path, readPage } = versionsOf(workflow_id);
  const read = (cursor: string | undefined) =>
    readPage(call, { method: 'GET', path, query: { archived: false, limit: PAGE, cursor } });
  for await (const { items } of pages(read)) {
    const before = items.find((item) => item.number < number);
    if (before !== undefined) return before;
  }
  throw new CommandError(
    `${plain(name)} has version ${number}, and none before it that is not archived. Name another one: runledger versions ${plain(name)} lists them, and with --archived the archived ones.`,
  );
};
