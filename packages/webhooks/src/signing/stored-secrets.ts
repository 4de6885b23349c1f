import type { OrgId } from '@runledger/contracts/ids';
import { Type, type Static } from 'typebox';
import type { SecretBox } from './secret-box.ts';

/** The signing secrets of an organisation's webhooks. */
export interface SigningSecret {
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly created_at: string;
  /** The earlier one, which also signs until `expires_at`. */
  readonly previous: { readonly secret: string; readonly expires_at: string } | null;
}

/** `sealed` by a SecretBox, with the organisation's id as context. */
export const StoredSecrets = Type.Object({
  sealed: Type.String(),
  created_at: Type.String(),
  previous: Type.Union([Type.Object({ sealed: Type.String(), expires_at: Type.String() }), Type.Null()]),
});
export type StoredSecrets = Static<typeof StoredSecrets>;

/** Converts secrets to their stored form and back. Only the box has the keys. */
export interface StoredSecretsForm {
  opened(org: OrgId, stored: StoredSecrets): SigningSecret;
  sealed(org: OrgId, secret: SigningSecret): StoredSecrets;
  /** Everything is sealed with the box's first key. */
  isFresh(stored: StoredSecrets): boolean;
  isExpired(previous: { readonly expires_at: string }): boolean;
}

export const storedSecrets = (box: SecretBox, now: () => Date): StoredSecretsForm => {
  const isExpired = ({ expires_at }: { readonly expires_at: string }): boolean =>
    Date.parse(expires_at) <= now().getTime();
  const opened = (org: OrgId, { sealed, created_at, previous }: StoredSecrets): SigningSecret => ({
    secret: box.open(sealed, org),
    created_at,
    previous:
      previous === null || isExpired(previous)
        ? null
        : { secret: box.open(previous.sealed, org), expires_at: previous.expires_at },
  });
  const sealed = (org: OrgId, { secret, created_at, previous }: SigningSecret): StoredSecrets => ({
    sealed: box.seal(secret, org),
    created_at,
    previous: previous && { sealed: box.seal(previous.secret, org), expires_at: previous.expires_at },
  });
  const isFresh = (stored: StoredSecrets): boolean =>
    box.isFresh(stored.sealed) && (stored.previous === null || box.isFresh(stored.previous.sealed));

  return { opened, sealed, isFresh, isExpired };
};
