import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { SelfsignedOptions } from 'selfsigned';

/** A certificate and its private key, both as PEM. */
export interface Certified {
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
export const newAuthority = (now: Date): Promise<Certified> =>
  generated('Runledger brokers', {
    ...times(now, AUTHORITY_FOR_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });

/** For a broker that the others reach by its name or at its host: it shows it to those that it connects to, and to those that connect. */
export const newRouteCertificate = (
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
export const isGood = (certificate: string, authority: Certified, host: string, now: Date): boolean => {
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
export const readCertified = async (certificate: string, key: string): Promise<Certified | undefined> => {
  try {
    return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
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
