import type { Run } from '@runledger/contracts/fold/run';

/** Views are found by the schedule that queued the run as by its tags. No client can write a tag with a space. */
export const scheduleTag = (scheduleId: string): string => `schedule ${scheduleId}`;

/** Null without any. */
export const tagsOf = ({ tags = [], schedule }: Run['request']): readonly string[] | null => {
  const all = schedule ? [...tags, scheduleTag(schedule.id)] : tags;
  return all.length === 0 ? null : all;
};
