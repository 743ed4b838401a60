"""What several networks share: interfaces without a mirror map, and checks of shapes."""
