/** No scheduler leads, or the one that does has not answered in time; only that one knows. */
export class SchedulerUnavailable extends Error {
  override readonly name = 'SchedulerUnavailable';
}

/** It answers from memory, so this is long. */
export const RESPONSE_TIMEOUT_MS = 2_000;

/** What the scheduler that leads has answered. @throws {SchedulerUnavailable} */
export const orSchedulerUnavailable = <Answer>(answer: Answer | undefined): Answer => {
  if (answer === undefined) throw new SchedulerUnavailable('no scheduler has answered');
  return answer;
};
