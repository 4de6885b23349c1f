import type { FleetEvent } from './fleet.ts';
import type { RunEventType } from './run-event.ts';
import type { WebhookEventType } from './webhook-event.ts';
import type { WriterRole } from './writer.ts';

/**
 * What a service writes and reads, told in one place: consumer filters, broker permissions, docs/events.md and the
 * ownership test are made from it.
 */
export interface ServiceContract {
  readonly service: 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';
  readonly role: WriterRole;
  readonly writes: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
  };
  readonly reads: {
    readonly runs: readonly RunEventType[];
    readonly webhooks: readonly WebhookEventType[];
    readonly fleet: readonly FleetEvent['type'][];
    readonly activity: boolean;
  };
}
