import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { generate, type GenerateResult } from 'selfsigned';

/** A certificate, and its key, that a test's server shows. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export const newAuthority = (): Promise<GenerateResult> =>
  generate([{ name: 'commonName', value: 'An authority of the tests' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });

const usual = newAuthority();

/**
 * As with NODE_EXTRA_CA_CERTS, this process trusts the certificates of the tests, until it is disposed: other test files run in
 * the same process.
 */
export const trustCertificates = async (): Promise<Disposable> => {
  const { cert } = await usual;
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
};

export interface Holder {
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  readonly notAfter?: Date;
  readonly authority?: Promise<GenerateResult>;
}

const DAY_MS = 86_400_000;

export const certify = async ({
  names = [],
  addresses = [],
  notAfter,
  authority = usual,
}: Holder): Promise<Certificate> => {
  const { private: caKey, cert: caCert } = await authority;
  const made = await generate([{ name: 'commonName', value: 'A receiver of the tests' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: caKey, cert: caCert },
    ...(notAfter ? { notAfterDate: notAfter, notBeforeDate: new Date(notAfter.getTime() - DAY_MS) } : {}),
    extensions: [
      { name: 'basicConstraints', cA: false },
      {
        name: 'subjectAltName',
        altNames: [
          ...names.map((value) => ({ type: 2 as const, value })),
          ...addresses.map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });
  return { key: made.private, cert: made.cert };
};
