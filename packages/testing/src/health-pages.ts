import { healthTokenHeader } from '@runledger/service-kit/health-token';

const TOKEN = 'the-token-of-health-servers-in-tests';

/** For the environment of a service whose metrics, or reasons of `/readyz`, a test reads. */
export const HEALTH_TOKEN_ENV = { RUNLEDGER_HEALTH_TOKEN: TOKEN } as const;

/** A page of its health server, with the token. Another service than those of tests has another token. */
export const healthPage = (
  health: string,
  path: '/metrics' | '/readyz',
  { token = TOKEN, withinMs = 15_000 } = {},
): Promise<Response> =>
  fetch(new URL(path, health), {
    headers: healthTokenHeader(token),
    signal: AbortSignal.timeout(withinMs),
  });
