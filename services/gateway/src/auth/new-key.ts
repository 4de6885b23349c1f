import type { ApiKey, OrganisationScope, KeyScope } from '@runledger/contracts/catalogue/records';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { newKeyText, prefixOf, sha256Of } from './key-text.ts';
import type { IndexedKey } from './key-store.ts';

export interface NewApiKey {
  readonly org_id: string;
  readonly user_id: string;
  readonly name: string;
  /** `runs:write` when left out. */
  readonly scopes?: readonly KeyScope[];
  /** ISO 8601; never when left out. */
  readonly expires_at?: string | null;
  /** The id of the key that makes it. */
  readonly parent_key_id?: string;
  /** The user who makes it. */
  readonly made_by?: string;
  /** The ids of that key and those above it. */
  readonly ancestors?: readonly string[];
  /** The id of the key whose rate it shares; a rate of its own when left out. */
  readonly rate_key?: string;
  /** A key that was chosen elsewhere: 16 to 255 printable characters without spaces. A random one when left out. */
  readonly key?: string;
}

export interface CreatedApiKey {
  readonly record: ApiKey;
  /** Shown this once: only its hash is stored. */
  readonly key: string;
}

export const DEFAULT_SCOPES: readonly OrganisationScope[] = ['runs:write'];

/** A key as it is to be stored, and its text. */
export const newKey = (request: NewApiKey, now: Date): CreatedApiKey & { readonly stored: IndexedKey } => {
  const key = request.key ?? newKeyText();
  const sha256 = sha256Of(key);
  const record: ApiKey = {
    id: newUuid(),
    user_id: request.user_id,
    org_id: orgId(request.org_id),
    name: request.name,
    prefix: prefixOf(key),
    sha256,
    scopes: [...new Set(request.scopes ?? DEFAULT_SCOPES)],
    ...(request.parent_key_id === undefined ? {} : { parent_key_id: request.parent_key_id }),
    ...(request.made_by === undefined ? {} : { made_by: request.made_by }),
    ...(request.rate_key === undefined ? {} : { rate_key: request.rate_key }),
    created_at: now.toISOString(),
    expires_at: request.expires_at ?? null,
  };
  return { record, key, stored: { sha256, record, ancestors: [...(request.ancestors ?? [])] } };
};
