import { RunTokenScope } from '@runledger/contracts/http/runs/run-tokens';
import type { Signer } from '@runledger/webhooks/signing/signer';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

/** What a token permits: some reads of one run, in the name of the key that made it. */
const RunToken = Type.Object({
  org_id: Type.String(),
  run_id: Type.String(),
  key_id: Type.String(),
  scopes: Type.Array(RunTokenScope),
  /** Milliseconds since 1970. */
  expires_at: Type.Integer(),
});
export type RunToken = Static<typeof RunToken>;

/** The texts of tokens. A gateway stores none: the signature proves that one of them made it. */
export interface RunTokens {
  write(token: RunToken): string;
  /** Undefined for anything that no gateway wrote. The token may have expired, and its key may be revoked. */
  read(text: string): RunToken | undefined;
}

/** Other than those of API keys, so that people and logs recognise it. */
const PREFIX = 'rlt_';
const TEXT = /^(rlt_[\w-]+)\.([\w-]+)$/;

export const runTokens = (signer: Signer): RunTokens => ({
  write: (token) => {
    const claims = `${PREFIX}${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
    return `${claims}.${signer.sign(claims)}`;
  },
  read: (text) => {
    const [, claims, signature] = TEXT.exec(text) ?? [];
    if (claims === undefined || signature === undefined || !signer.verifies(claims, signature))
      return undefined;
    const token: unknown = JSON.parse(Buffer.from(claims.slice(PREFIX.length), 'base64url').toString('utf8'));
    // A later release may write others.
    return Value.Check(RunToken, token) ? token : undefined;
  },
});
