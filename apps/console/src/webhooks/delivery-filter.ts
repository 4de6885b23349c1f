import type { Schemas } from '../api/schemas.ts';

export type WebhookStatus = Schemas['WebhookStatus'];

/** The states of notifications, with what each means. */
export const WEBHOOK_STATUSES: Readonly<Record<WebhookStatus, string>> = {
  failed: 'given up',
  running: 'tried again',
  success: 'accepted',
  'not-started': 'not due yet, or under way',
};

/** Which deliveries are shown. It is in the address of the page. */
export interface DeliveryFilter {
  readonly status?: WebhookStatus;
  /** The host of the receiver, with the port unless it is the default port. */
  readonly host?: string;
}

/** The filter in the query of an address, without what the API would refuse. */
export const deliveryFilterIn = ({ status, host }: Readonly<Record<string, unknown>>): DeliveryFilter => ({
  ...(isStatus(status) && { status }),
  ...(typeof host === 'string' && host.trim() !== '' && { host: host.trim() }),
});

const isStatus = (value: unknown): value is WebhookStatus =>
  typeof value === 'string' && Object.hasOwn(WEBHOOK_STATUSES, value);
