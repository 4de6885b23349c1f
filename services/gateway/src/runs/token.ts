import { NewRunTokenRequest, RUN_TOKEN_S, RunTokenItem } from '@runledger/contracts/http/runs/run-events';
import { operation, route, type Route } from '../door/operation.ts';
import { invalid, Refused } from '../door/refusal.ts';
import { own } from '../door/compiled.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { existingRun, RunPath, runKeyOf } from './run-path.ts';

const tokenOperation = operation({
  id: 'createRunToken',
  method: 'POST',
  path: '/run/{run_id}/tokens',
  tag: 'Runs',
  summary: 'Create a token for one run',
  description:
    'A credential for a browser: it reads this run, as far as its scopes say, and permits nothing else. It is sent as an API key is. An `EventSource` sends it as `access_token` in the query of its URL, which the operations say that accept it there; an API key is never accepted there. It ends with its time, with the run, and with the API key that made it: whatever revokes that key revokes the token, and ends its streams, within a second. All tokens of a key and of the keys derived from it share a rate, which is as high as that of the key.',
  scope: 'runs:read',
  audit: { unrecorded: 'it permits less than the key that made it, and ends with it' },
  request: { path: RunPath, body: NewRunTokenRequest },
  response: {
    status: 201,
    description: 'The token. It is not shown again.',
    body: RunTokenItem,
    holdsSecret: true,
  },
  refusals: [404],
});

export const tokenRoute = ({ config, now }: Kit, { current, tokens }: Runs): Route => {
  const maxS = config.RUNLEDGER_RUN_TOKEN_MAX_S;
  return route(
    tokenOperation,
    async ({ path, body }, caller) => {
      if (caller.session)
        throw new Refused({
          code: 'api_key_needed',
          why: 'A token of a run ends with the API key that made it, so a session cannot make one: send an API key. A page of this server needs none: it sends its session',
        });
      const key = runKeyOf(path, caller);
      await existingRun(current, key);
      const seconds = body.expires_in_s ?? Math.min(RUN_TOKEN_S, maxS);
      const wanted = now().getTime() + seconds * 1_000;
      const { id: key_id, expires_at: keyExpires } = caller.key;
      const expires_at = keyExpires === null ? wanted : Math.min(wanted, Date.parse(keyExpires));
      const scopes = [...new Set(body.scopes)];
      return {
        token: tokens.write({ ...key, key_id, scopes, expires_at }),
        expires_at: new Date(expires_at).toISOString(),
      };
    },
    ({ body }) => {
      const seconds = own(body, 'expires_in_s');
      const isLong = typeof seconds === 'number' && seconds > maxS;
      return isLong ? [invalid(['body', 'expires_in_s'], 'less_than_equal', `Send ${maxS} or less`)] : [];
    },
  );
};
