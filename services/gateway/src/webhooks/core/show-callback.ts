import { withoutPath } from '@runledger/contracts/deliveries/delivery-attempts';
import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { allows } from '@runledger/contracts/accounts/scopes';

/** A callback URL as a caller sees it. */
export type ShowCallback = (url: string) => string;

/** An admin sees the whole address. */
export type Audience = 'admins' | 'others';

export const audienceOf = (scopes: readonly KeyScope[]): Audience =>
  allows(scopes, 'admin') ? 'admins' : 'others';

/** What follows the host may be a secret: whoever has it can post to the receiver. Only an admin sees it. */
export const showCallback = (scopes: readonly KeyScope[]): ShowCallback => callbackFor(audienceOf(scopes));

export const callbackFor = (audience: Audience): ShowCallback =>
  audience === 'admins' ? (url) => url : withoutPath;
