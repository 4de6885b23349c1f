import { createHmac } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_FILES, nodeConfiguration, type BrokerNode } from '@runledger/broker-access/node-configuration';
import { OWNER_ONLY, replaceFile } from '@runledger/standalone/write-file';
import { MARK, type ConfigFolder } from './config-folder.ts';
import type { NodesPlan } from './plan-nodes.ts';
import {
  isGood,
  newAuthority,
  newRouteCertificate,
  readCertified,
  type Certified,
} from './route-certificates.ts';

const FOR_ALL = 0o644;
const HEAD = `${MARK} --nodes", which replaces this file: changes by hand are lost.\n`;

/** Everything that a broker of a cluster needs is in its folder. Returns whether something changed. */
export const writeNodes = async (
  folder: ConfigFolder,
  { names, made, installedAt }: NodesPlan,
  users: string,
  now: Date,
): Promise<boolean> => {
  const changes: boolean[] = [];
  const write = async (path: string, text: string, mode = FOR_ALL): Promise<void> => {
    changes.push(await replaceIfChanged(path, text, mode));
  };
  for (const name of names) await mkdir(folder.nodeFolderOf(name), { recursive: true });
  if (made.length > 0) {
    const authority = await authorityOf(folder, now);
    for (const node of made) {
      const at = (file: string): string => join(folder.nodeFolderOf(node.name), file);
      const { certificate, key } = await certifiedFor(folder, node, authority, now);
      await write(at(NODE_FILES.authority), authority.certificate);
      await write(at(NODE_FILES.key), key, OWNER_ONLY);
      await write(at(NODE_FILES.certificate), certificate);
      const settings = { ...installedAt(node.name), monitoring: monitoringOf(node, authority) };
      await write(at(NODE_FILES.config), `${HEAD}${nodeConfiguration(node, made, settings)}`, OWNER_ONLY);
    }
  }
  for (const name of names) await write(join(folder.nodeFolderOf(name), NODE_FILES.users), users);
  return changes.includes(true);
};

/** The same in each call, and known to who has the key of the authority, or the configuration. */
const monitoringOf = ({ name }: BrokerNode, { key }: Certified): string =>
  createHmac('sha256', key).update(`monitoring of ${name}`).digest('hex');

/** A new file keeps the mode of the old one, so that the same users can read it, such as the user of a container. */
const replaceIfChanged = async (path: string, text: string, mode: number): Promise<boolean> => {
  const present = await readFile(path, 'utf8').catch(() => undefined);
  if (present === text) return false;
  await replaceFile(path, text, present === undefined ? mode : (await stat(path)).mode & 0o777);
  return true;
};

/** The authority of the folder: whoever has its key can make a broker that the others accept. */
const authorityOf = async ({ nodes }: ConfigFolder, now: Date): Promise<Certified> => {
  const [certificate, key] = [join(nodes, 'authority.crt'), join(nodes, 'authority.key')];
  const kept = await readCertified(certificate, key);
  if (kept) return kept;
  const made = await newAuthority(now);
  await replaceFile(key, made.key, OWNER_ONLY);
  await replaceFile(certificate, made.certificate, FOR_ALL);
  return made;
};

const certifiedFor = async (
  folder: ConfigFolder,
  node: BrokerNode,
  authority: Certified,
  now: Date,
): Promise<Certified> => {
  const at = (file: string): string => join(folder.nodeFolderOf(node.name), file);
  const kept = await readCertified(at(NODE_FILES.certificate), at(NODE_FILES.key));
  return kept && isGood(kept.certificate, authority, node.host, now)
    ? kept
    : newRouteCertificate(authority, node, now);
};
