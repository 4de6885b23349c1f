/** A place in the logs of a run: before this line of this attempt. */
export interface LogPosition {
  readonly attempt: number;
  /** Lines of the attempt before it. */
  readonly line: number;
}

export const LOG_POSITION_PATTERN = '^[1-9]\\d{0,5}-\\d{1,12}$';

export const LOG_BEGIN: LogPosition = { attempt: 1, line: 0 };

/** The id of an event after which this is the place. */
export const positionId = ({ attempt, line }: LogPosition): string => `${attempt}-${line}`;

/** @throws TypeError for text that does not match the pattern */
export const parsePosition = (id: string): LogPosition => {
  const [attempt, line] = id.split('-').map(Number);
  if (attempt === undefined || line === undefined) throw new TypeError(`"${id}" is not a position in a log`);
  return { attempt, line };
};
