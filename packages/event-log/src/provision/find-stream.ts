import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';

/** Undefined when it does not exist. */
export const findStream = async (
  manager: JetStreamManager,
  name: string,
): Promise<StreamInfo | undefined> => {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
      return undefined;
    throw error;
  }
};
