import { InputTarget } from '@runledger/contracts/catalogue/input-targets';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { fetchJson, notUsable } from './fetch-json.ts';
import type { FetchOptions, NotFetched } from './fetch-body.ts';

export type FetchedTargets =
  | { readonly kind: 'fetched'; readonly targets: readonly InputTarget[] }
  | NotFetched;

const TARGETS = { path: 'input-targets', what: 'targets of the inputs' };
const Targets = Type.Array(InputTarget);

/** Fetches which nodes of the workflow take the inputs, if its version says so. */
export const fetchInputTargets = async (
  settings: Pick<GatewaySettings, 'log'>,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedTargets> => {
  if (gateway.assignment.event.data.has_input_targets !== true) return { kind: 'fetched', targets: [] };
  const fetched = await fetchJson(settings, gateway, TARGETS, options);
  if (fetched.kind !== 'fetched') return fetched;
  return Value.Check(Targets, fetched.value)
    ? { kind: 'fetched', targets: fetched.value }
    : notUsable(TARGETS.what, 'the response of the gateway is not a list of them');
};
