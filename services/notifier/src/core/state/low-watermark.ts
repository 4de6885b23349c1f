/** Up to where everything is settled, in a stream that is taken in order and settled in any order. */
export interface LowWatermark {
  /** It is taken. It is settled when `settle` is called as often as `open`. */
  open(sequence: number): void;
  settle(sequence: number): void;
  /** Everything up to here was taken. */
  take(sequence: number): void;
  taken(): number;
  /** Everything up to here is settled. */
  low(): number;
}

export const lowWatermark = (from: number): LowWatermark => {
  /** In the order of the sequences, since they are taken in order. */
  const open = new Map<number, number>();
  let taken = from;
  return {
    open: (sequence) => void open.set(sequence, (open.get(sequence) ?? 0) + 1),
    settle: (sequence) => {
      const times = open.get(sequence) ?? 0;
      if (times > 1) open.set(sequence, times - 1);
      else open.delete(sequence);
    },
    take: (sequence) => {
      if (sequence > taken) taken = sequence;
    },
    taken: () => taken,
    low: () => {
      const [first] = open.keys();
      return first === undefined ? taken : first - 1;
    },
  };
};
