import type { MaskText } from '@runledger/contracts/logs/log-masks';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { maskValues } from '../logs/core/mask-values.ts';
import { fetchJson, notUsable } from './fetch-json.ts';
import type { FetchOptions, NotFetched } from './fetch-body.ts';

export type FetchedSecrets =
  | {
      readonly kind: 'fetched';
      /** In place of the sealed ones. */
      readonly values: Readonly<Record<string, string>>;
      /** Hides them, after another mask. */
      readonly masked: (mask: MaskText) => MaskText;
    }
  | NotFetched;

const SECRETS = { path: 'secret-inputs', what: 'secret inputs' };
const Values = Type.Record(Type.String(), Type.String());

/** Fetches the values of secret inputs, which the assignment has sealed. */
export const fetchSecretInputs = async (
  settings: Pick<GatewaySettings, 'log'>,
  gateway: AttemptGateway,
  options: FetchOptions,
): Promise<FetchedSecrets> => {
  const names = gateway.assignment.event.data.secret_inputs ?? [];
  if (names.length === 0) return { kind: 'fetched', values: {}, masked: (mask) => mask };
  const fetched = await fetchJson(settings, gateway, SECRETS, options);
  if (fetched.kind !== 'fetched') return fetched;
  const { value } = fetched;
  if (!Value.Check(Values, value) || !names.every((name) => Object.hasOwn(value, name)))
    return notUsable(SECRETS.what, 'the response of the gateway does not have them');
  const hide = maskValues(Object.values(value));
  return { kind: 'fetched', values: value, masked: (mask) => (text) => mask(hide(text)) };
};
