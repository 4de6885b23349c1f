import { isJsonObject, parseJson } from '@runledger/contracts/json';

/** What `GET /health-check` says. */
export type Health =
  | { readonly kind: 'starting' }
  /** `busy`: as many predictions run as it can execute at once. */
  | { readonly kind: 'ready' | 'busy' }
  /** `logs`: the end of what its setup printed. */
  | { readonly kind: 'setup_failed'; readonly logs: string }
  /** It answers, and takes no predictions any more until it is started again. */
  | { readonly kind: 'broken'; readonly status: string };

const MAX_SETUP_LOGS = 1_024;

/** Null when this is no answer of a Cog server. */
export const readHealth = (text: string): Health | null => {
  const answer = parseJson(text);
  if (!isJsonObject(answer) || typeof answer['status'] !== 'string') return null;
  switch (answer['status']) {
    case 'STARTING':
    // Servers of older releases say this before they say STARTING.
    case 'UNKNOWN':
      return { kind: 'starting' };
    case 'READY':
      return { kind: 'ready' };
    case 'BUSY':
      return { kind: 'busy' };
    case 'SETUP_FAILED':
      return { kind: 'setup_failed', logs: setupLogs(answer['setup']) };
    default:
      return { kind: 'broken', status: answer['status'].slice(0, 40) };
  }
};

const setupLogs = (setup: unknown): string => {
  const logs = isJsonObject(setup) && typeof setup['logs'] === 'string' ? setup['logs'].trimEnd() : '';
  return logs.length <= MAX_SETUP_LOGS ? logs : `…${logs.slice(-MAX_SETUP_LOGS).toWellFormed()}`;
};
