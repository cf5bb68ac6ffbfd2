/** Where something takes longer than one would notice: lines of about its shape, which stand still. */
export function Placeholder({ lines = 4 }: { lines?: number }) {
  return (
    <div class="placeholder" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="placeholder-line" />
      ))}
    </div>
  );
}
