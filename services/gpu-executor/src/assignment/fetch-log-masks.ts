import { LogMasks } from '@runledger/contracts/logs/log-mask-patterns';
import { compileMasks, type MaskText } from '@runledger/contracts/logs/log-masks';
import { Value } from 'typebox/value';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { fetchJson, notUsable } from './fetch-json.ts';
import type { FetchOptions, NotFetched } from './fetch-body.ts';

export type FetchedMasks = { readonly kind: 'fetched'; readonly mask: MaskText } | NotFetched;

const NO_MASKS: MaskText = (text) => text;

const MASKS = { path: 'log-masks', what: 'log masks' };

/** Fetches what the deployment masks in logs. Without it the run does not begin: it could show a secret. */
export const fetchLogMasks = async (
  settings: Pick<GatewaySettings, 'log'>,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedMasks> => {
  if (gateway.assignment.event.data.has_log_masks !== true) return { kind: 'fetched', mask: NO_MASKS };
  const fetched = await fetchJson(settings, gateway, MASKS, options);
  if (fetched.kind !== 'fetched') return fetched;
  const { value } = fetched;
  if (Array.isArray(value) && value.length === 0) return { kind: 'fetched', mask: NO_MASKS };
  if (!Value.Check(LogMasks, value))
    return notUsable(MASKS.what, 'the response of the gateway is not a list of patterns');
  const compiled = compileMasks(value);
  return compiled.kind === 'compiled'
    ? { kind: 'fetched', mask: compiled.mask }
    : notUsable(MASKS.what, compiled.why);
};
