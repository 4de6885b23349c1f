import { readdir } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { isAbsolute } from 'node:path';
import { ROUTE_PORT, type BrokerNode, type NodeSettings } from '@runledger/broker-access/node-configuration';
import { CommandError } from '../../output/command-error.ts';
import { unlessMissing, type ConfigFolder } from './config-folder.ts';

export interface NodeChanges {
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
export const planNodes = async (folder: ConfigFolder, changes: NodeChanges): Promise<NodesPlan> => {
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
