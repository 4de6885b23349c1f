import type { IncomingMessage } from 'node:http';
import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import { allows } from './scopes.ts';
import { rateHeaders } from '../rate-limit/core/rate-decision.ts';
import type { LimitRate } from '../rate-limit/rate-limit.ts';
import { bearerOf } from './bearer.ts';
import type { IdentifyCaller } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';

export type Authenticate = (key: string) => Promise<ApiKey | undefined>;

/** The address is undefined when the connection was closed already. */
export type AuthenticateClient = (key: string, address: string | undefined) => Promise<ApiKey | undefined>;

export interface IdentifyCallerOptions {
  readonly authenticate: AuthenticateClient;
  readonly addressOf: (req: IncomingMessage) => string | undefined;
  readonly limitRate: LimitRate;
}

export const identifyCaller =
  ({ authenticate, addressOf, limitRate }: IdentifyCallerOptions): IdentifyCaller =>
  async (ctx, scope) => {
    const key = bearerOf(ctx.req);
    if (key === undefined) {
      throw new Refused({
        kind: 'not_authenticated',
        why: 'Not authenticated: send the header "Authorization: Bearer <API_KEY>"',
      });
    }
    const record = await authenticate(key, addressOf(ctx.req));
    if (!record) throw notAuthenticated();
    if (!allows(record.scopes, scope)) throw new Refused({ kind: 'not_allowed', scope });
    ctx.state['org_id'] = record.org_id;
    const rate = await limitRate(record);
    ctx.set(rateHeaders(rate));
    if (rate?.allowed === false) {
      throw new Refused({
        kind: 'too_many',
        why: `This API key, with the keys derived from it, may make ${rate.limit} requests a minute. Try again in ${rate.resetS} s`,
        retryAfterS: rate.resetS,
      });
    }
    return { org_id: orgId(record.org_id), user_id: record.user_id, key: record };
  };

export const notAuthenticated = (): Refused =>
  new Refused({ kind: 'not_authenticated', why: 'The API key is invalid, expired or revoked' });
