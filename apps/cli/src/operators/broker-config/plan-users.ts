import { executorToken } from '@runledger/contracts/ids';
import { systemUser, type BrokerUser } from '@runledger/broker-access/broker-user';
import type { UserKey } from '@runledger/event-log/connect/user-key';
import { brokerUsers, readKeyFile } from '@runledger/standalone/keys';
import { CommandError } from '../../output/command-error.ts';
import { planNodes, type NodeChanges, type NodesPlan } from './plan-nodes.ts';
import { configFolder, knownExecutors, readConfigText, type ConfigFolder } from './config-folder.ts';

export interface UserChanges extends NodeChanges {
  readonly cwd: string;
  readonly folder: string;
  readonly executor: readonly string[];
  readonly remove: readonly string[];
  readonly rotate: readonly string[];
}

export interface PlannedUser {
  readonly user: BrokerUser;
  /** What happens to its key. */
  readonly key: { readonly kind: 'new' | 'rotated' } | { readonly kind: 'kept'; readonly key: UserKey };
}

export interface Plan {
  readonly folder: ConfigFolder;
  /** The present broker.conf. */
  readonly text: string | undefined;
  readonly users: readonly PlannedUser[];
  /** Names of executors. */
  readonly removed: readonly string[];
  readonly nodes: NodesPlan;
}

/** Checks everything before anything is written. @throws CommandError */
export const planUsers = async ({
  cwd,
  folder: out,
  executor,
  remove,
  rotate,
  ...nodes
}: UserChanges): Promise<Plan> => {
  for (const name of executor) checkName(name);
  const both = executor.find((name) => remove.includes(name));
  if (both !== undefined) throw new CommandError(`${both} cannot be added and removed at the same time.`);
  const folder = configFolder(cwd, out);
  const text = await readConfigText(folder);
  const known = await knownExecutors(folder, text);
  refuseUnknown('executor', remove, known);

  const names = [...new Set([...known, ...executor])].filter((name) => !remove.includes(name));
  const users = [...brokerUsers(names.toSorted()), systemUser()];
  refuseUnknown(
    'user',
    rotate,
    users.map(({ name }) => name),
  );
  const planned = await Promise.all(
    users.map(async (user) => ({
      user,
      key: await plannedKey(folder, user.name, rotate.includes(user.name)),
    })),
  );
  refuseSharedKeys(folder, planned);
  return {
    folder,
    text,
    users: planned,
    removed: [...new Set(remove)],
    nodes: await planNodes(folder, nodes),
  };
};

const checkName = (name: string): void => {
  const token = executorToken(name);
  if (token === name) return;
  throw new CommandError(
    `${JSON.stringify(name)} is not a valid name of an executor at the broker. A name has up to 48 letters, digits, "-" and "_". ` +
      `An executor with that EXECUTOR_NAME is called ${token} there. Use --executor ${token}.`,
  );
};

const refuseUnknown = (what: string, wanted: readonly string[], known: readonly string[]): void => {
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const there = known.length === 0 ? '' : ` It has ${known.join(', ')}.`;
  throw new CommandError(`There is no ${what} ${unknown} in this folder.${there}`);
};

const plannedKey = async (
  folder: ConfigFolder,
  user: string,
  rotate: boolean,
): Promise<PlannedUser['key']> => {
  const file = folder.keyFileOf(user);
  const kept = await readKeyFile(file);
  switch (kept.kind) {
    case 'missing':
      return { kind: 'new' };
    case 'found':
      return rotate ? { kind: 'rotated' } : { kind: 'kept', key: kept.key };
    case 'unusable':
      if (rotate) return { kind: 'rotated' };
      throw new CommandError(
        `${folder.shown(file)} cannot be used: ${kept.why}. Restore the file, or make a new key with --rotate ${user}.`,
      );
  }
};

/** A copied file: the broker could not distinguish the two users. */
const refuseSharedKeys = (folder: ConfigFolder, users: readonly PlannedUser[]): void => {
  const names = new Map<string, string>();
  for (const { user, key } of users) {
    if (key.kind !== 'kept') continue;
    const other = names.get(key.key.publicKey);
    if (other !== undefined) {
      throw new CommandError(
        `${folder.shown(folder.keyFileOf(other))} and ${folder.shown(folder.keyFileOf(user.name))} hold the same key, but each user needs its own. ` +
          `Make a new one with --rotate ${user.name}.`,
      );
    }
    names.set(key.key.publicKey, user.name);
  }
};
