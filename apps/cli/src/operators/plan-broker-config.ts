import { readdir, readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { executorToken } from '@runledger/contracts/ids';
import { systemUser, type BrokerUser } from '@runledger/broker-access/broker-user';
import type { UserKey } from '@runledger/event-log/connect/user-key';
import { brokerUsers, readKeyFile, KEY_FILE_ENDING, keyFileOf } from '@runledger/standalone/keys';
import { ROUTE_PORT, type BrokerNode, type NodeSettings } from '@runledger/broker-access/node-configuration';
import { codeOf, messageOf } from '@runledger/resilience/errors';
import { CommandError } from '../command/command-error.ts';

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

interface NodeChanges {
  readonly nodes?: string;
  readonly hosts?: readonly string[];
  readonly installedAt?: string;
  readonly store?: string;
}

export interface NodesPlan {
  /** Of each broker in the folder: those of an earlier call, and those of this one. */
  readonly names: readonly string[];
  /** What is written anew. Empty: each broker only gets the present users. */
  readonly made: readonly BrokerNode[];
  /** Where the files of a broker lie on its machine. */
  readonly installedAt: (name: string) => Omit<NodeSettings, 'monitoring'>;
}

const NUMBERS: readonly string[] = ['3', '5'];

/** @throws CommandError */
const planNodes = async (folder: ConfigFolder, changes: NodeChanges): Promise<NodesPlan> => {
  const { nodes, hosts, installedAt, store } = changes;
  const known = await knownNodes(folder);
  const plan = {
    installedAt: (name: string) => {
      const own = installedAt ?? folder.nodeFolderOf(name);
      return { folder: own, store: store ?? `${own}/data` };
    },
  };
  if (nodes === undefined) {
    if (hosts || installedAt !== undefined || store !== undefined)
      throw new CommandError('--hosts, --installed-at and --store belong to --nodes. Add --nodes 3.');
    return { ...plan, names: known, made: [] };
  }
  const names = namesOf(nodes);
  const more = known.filter((name) => !names.includes(name));
  if (more.length > 0) {
    throw new CommandError(
      `${folder.shown(folder.nodes)} has ${more.toSorted().join(', ')} too. Take it out of the cluster first ("runledger cluster remove"), and remove its folder then.`,
    );
  }
  for (const [option, path] of [
    ['--installed-at', installedAt],
    ['--store', store],
  ] as const)
    if (path !== undefined && !isAbsolute(path)) throw new CommandError(`${option} ${path} is not absolute.`);
  return { ...plan, names, made: brokersAt(names, hosts ?? names) };
};

const namesOf = (nodes: string): string[] => {
  if (!NUMBERS.includes(nodes)) {
    throw new CommandError(
      `--nodes ${nodes} makes no cluster that can be relied on. Use 3: it goes on while one is away. With 5 it goes on while two are. For one broker, leave the option out.`,
    );
  }
  return Array.from({ length: Number(nodes) }, (_, n) => `nats-${n + 1}`);
};

const brokersAt = (names: readonly string[], hosts: readonly string[]): BrokerNode[] => {
  if (hosts.length !== names.length)
    throw new CommandError(`--hosts names ${hosts.length} hosts, and ${names.length} are needed.`);
  const nodes = names.map((name, n) => ({ name, ...parseHost(hosts[n] ?? '') }));
  const addresses = nodes.map(({ host, routePort }) => `${host} ${routePort}`);
  if (new Set(addresses).size !== nodes.length)
    throw new CommandError('--hosts names one host twice. Each broker needs its own machine.');
  return nodes;
};

const HOST = /^(?<host>[A-Za-z\d._-]+|\[[\da-fA-F:.]+\])(?::(?<port>\d{1,5}))?$/;

const parseHost = (text: string): Pick<BrokerNode, 'host' | 'routePort'> => {
  if (isIPv6(text)) return { host: text, routePort: ROUTE_PORT };
  const { host, port } = HOST.exec(text)?.groups ?? {};
  const routePort = port === undefined ? ROUTE_PORT : Number(port);
  if (host === undefined || routePort < 1 || routePort > 65_535)
    throw new CommandError(
      `--hosts ${text}: a host is a name or an address, with :PORT when the others reach it at another port than ${ROUTE_PORT}.`,
    );
  return { host: host.replaceAll(/[[\]]/g, ''), routePort };
};

/** Of earlier calls. */
const knownNodes = async (folder: ConfigFolder): Promise<string[]> => {
  const entries = await unlessMissing(folder, readdir(folder.nodes, { withFileTypes: true }));
  return (entries ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => name);
};

export const MARK = '# Made by "runledger broker-config';
const HEAD = `${MARK}", which keeps the keys and replaces this file: changes by hand are lost.
# It holds public keys only. In the configuration of nats-server: include './broker.conf'
`;
const EXECUTOR = 'executor-';

/** The folder with `broker.conf` and the seed of each user in `keys`. */
export interface ConfigFolder {
  readonly path: string;
  readonly configFile: string;
  readonly keys: string;
  readonly keyFileOf: (user: string) => string;
  /** With a folder for each broker of a cluster. */
  readonly nodes: string;
  readonly nodeFolderOf: (name: string) => string;
  /** A path in it, relative to the present folder. */
  readonly shown: (path: string) => string;
}

const configFolder = (cwd: string, folder: string): ConfigFolder => {
  const path = resolve(cwd, folder);
  const keys = join(path, 'keys');
  const nodes = join(path, 'nodes');
  return {
    path,
    configFile: join(path, 'broker.conf'),
    keys,
    keyFileOf: (user) => keyFileOf(keys, user),
    nodes,
    nodeFolderOf: (name) => join(nodes, name),
    shown: (inside) => {
      const near = relative(cwd, inside);
      return near.startsWith('..') || isAbsolute(near) ? inside : near;
    },
  };
};

export const configText = (accounts: string): string => `${HEAD}\n${accounts}`;

/** The present `broker.conf`; undefined without one. @throws CommandError for a file from elsewhere */
const readConfigText = async (folder: ConfigFolder): Promise<string | undefined> => {
  const text = await unlessMissing(folder, readFile(folder.configFile, 'utf8'));
  if (text === undefined || text.startsWith(MARK)) return text;
  throw new CommandError(
    `${folder.shown(folder.configFile)} was not made by this command, and is not replaced. Move it away, or choose another folder with --out.`,
  );
};

/** The known executors: from their keys, or from the configuration if a key was moved away. */
const knownExecutors = async (folder: ConfigFolder, text: string | undefined): Promise<string[]> => {
  const files = (await unlessMissing(folder, readdir(folder.keys))) ?? [];
  const byKey = files
    .filter((name) => name.startsWith(EXECUTOR) && name.endsWith(KEY_FILE_ENDING))
    .map((name) => name.slice(EXECUTOR.length, -KEY_FILE_ENDING.length));
  const byConfig = [...(text ?? '').matchAll(/^ {2}"executor-([\w-]+)" \{$/gm)].flatMap(
    ([, name]) => name ?? [],
  );
  // A file with another name does not belong to this command.
  return [...new Set([...byKey, ...byConfig])].filter((name) => executorToken(name) === name);
};

const unlessMissing = async <Content>(
  folder: ConfigFolder,
  reading: Promise<Content>,
): Promise<Content | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unusable(folder, error);
  }
};

/** The error for a failure in the folder. */
export const unusable = ({ path, shown }: ConfigFolder, error: unknown): CommandError => {
  const why = messageOf(error);
  return new CommandError(
    `The folder ${shown(path)} cannot be used: ${why}. Run this as its owner, make it writable, or choose another folder with --out.`,
  );
};
