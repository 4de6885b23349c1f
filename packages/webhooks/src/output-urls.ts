import { Type } from 'typebox';
import { signer } from './secret-box.ts';

/** The environment variable of output URLs, to spread into the configuration schema of a service that shows or serves them. */
export const outputUrlsConfig: { RUNLEDGER_OUTPUT_URL_TTL_S: Type.TInteger } = {
  RUNLEDGER_OUTPUT_URL_TTL_S: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    default: 0,
    description:
      'seconds for which the address of an output file is valid, at least, and a quarter more at most; reading the run gives new ones; 0 for as long as the file exists; the same in gateway and notifier',
  }),
};

/** What an address names. */
interface NamedOutput {
  readonly key: string;
  readonly filename: string;
}

/** What an address says besides. */
interface SentQuery {
  readonly expires?: unknown;
  readonly signature?: unknown;
}

export type OutputUrlState =
  /** For how long, in seconds. */
  | { readonly kind: 'valid'; readonly forS: number }
  | { readonly kind: 'expired' }
  /** It was not made here. */
  | { readonly kind: 'unknown' };

/** The addresses of output files. Whoever has one may read the file, while it is valid. */
export interface OutputUrls {
  readonly of: (file: NamedOutput) => string;
  readonly check: (file: NamedOutput, query: SentQuery) => OutputUrlState;
}

export interface OutputUrlsOptions {
  /** The gateway's address for clients, without a slash at the end. */
  readonly publicUrl: () => string;
  /** RUNLEDGER_SECRET_KEYS. */
  readonly keys: readonly string[];
  /** 0: addresses do not expire, and need no signature. */
  readonly ttlS: number;
  readonly now: () => Date;
}

const STEPS = 4;

/** With a lifetime, addresses change only as often as a quarter of it, so that a run is shown in the same words meanwhile. */
export const outputUrls = ({ publicUrl, keys, ttlS, now }: OutputUrlsOptions): OutputUrls => {
  const signing = signer(keys, 'output-url');
  const stepS = Math.max(1, Math.floor(ttlS / STEPS));
  const nowS = (): number => now().getTime() / 1_000;
  const signed = ({ key, filename }: NamedOutput, expires: string): string => `${expires}/${key}/${filename}`;
  return {
    of: (file) => {
      const url = `${publicUrl()}/outputs/${file.key}/${encodeURIComponent(file.filename)}`;
      if (ttlS === 0) return url;
      const expires = String(Math.ceil((nowS() + ttlS) / stepS) * stepS);
      return `${url}?expires=${expires}&signature=${signing.sign(signed(file, expires))}`;
    },
    check: (file, { expires, signature }) => {
      if (ttlS === 0) return { kind: 'valid', forS: Number.POSITIVE_INFINITY };
      if (typeof expires !== 'string' || typeof signature !== 'string') return { kind: 'unknown' };
      if (!signing.verifies(signed(file, expires), signature)) return { kind: 'unknown' };
      const forS = Number(expires) - nowS();
      return forS > 0 ? { kind: 'valid', forS } : { kind: 'expired' };
    },
  };
};
