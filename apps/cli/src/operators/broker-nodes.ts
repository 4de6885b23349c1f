import { createHmac, X509Certificate } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isIP } from 'node:net';
import { NODE_FILES, nodeConfiguration, type BrokerNode } from '@runledger/broker-access/node-configuration';
import { OWNER_ONLY, replaceFile } from '@runledger/standalone/write-file';
import { codeOf } from '@runledger/resilience/errors';
import type { SelfsignedOptions } from 'selfsigned';
import { MARK, type ConfigFolder, type NodesPlan } from './plan-broker-config.ts';

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

/** A certificate and its private key, both as PEM. */
interface Certified {
  readonly certificate: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const AUTHORITY_FOR_MS = 30 * YEAR_MS;
const NODE_FOR_MS = 10 * YEAR_MS;
/** A certificate that ends sooner is replaced. */
const RENEWED_BEFORE_MS = YEAR_MS;

/** The authority that brokers of one cluster trust, and no other. */
const newAuthority = (now: Date): Promise<Certified> =>
  generated('Runledger brokers', {
    ...times(now, AUTHORITY_FOR_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });

/** For a broker that the others reach by its name or at its host: it shows it to those that it connects to, and to those that connect. */
const newRouteCertificate = (
  authority: Certified,
  { name, host }: { readonly name: string; readonly host: string },
  now: Date,
): Promise<Certified> =>
  generated(name, {
    ...times(now, NODE_FOR_MS),
    ca: { key: authority.key, cert: authority.certificate },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: name },
          isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host },
        ],
      },
    ],
  });

/** Whether it may stay: it is of this authority, for this host, and for another year. */
const isGood = (certificate: string, authority: Certified, host: string, now: Date): boolean => {
  try {
    const found = new X509Certificate(certificate);
    const isOfHost = isIP(host) === 0 ? found.checkHost(host) : found.checkIP(host);
    return (
      found.verify(new X509Certificate(authority.certificate).publicKey) &&
      isOfHost !== undefined &&
      found.validToDate.getTime() - now.getTime() > RENEWED_BEFORE_MS
    );
  } catch {
    return false;
  }
};

/** Both files; undefined when one is missing. @throws what the file system does */
const readCertified = async (certificate: string, key: string): Promise<Certified | undefined> => {
  try {
    return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** The clocks of the machines may differ. */
const times = (now: Date, forMs: number): { readonly notBeforeDate: Date; readonly notAfterDate: Date } => ({
  notBeforeDate: new Date(now.getTime() - DAY_MS),
  notAfterDate: new Date(now.getTime() + forMs),
});

const generated = async (commonName: string, options: SelfsignedOptions): Promise<Certified> => {
  // It takes a fifth of a second to load, and no other command needs it.
  const { generate } = await import('selfsigned');
  const made = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ...options,
  });
  return { certificate: made.cert, key: made.private };
};
